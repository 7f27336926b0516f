"""Noisy systems of linear equations, with the error that their noise has made."""

import math

import numpy as np

from dpstats.score_rounds.bounds import ReleasedSystem


def noisy_system(rng: np.random.Generator, d: int, isometric: bool) -> tuple[ReleasedSystem, float]:
    """A noisy system, and the true distance of its solution to the noiseless one."""
    sd, noise_sd = 0.02, 0.01
    root = rng.normal(size=(d, d))
    gram = np.eye(d) + 0.1 * root @ root.T / d
    score, back = rng.normal(size=d), np.linalg.inv(np.eye(d) + 0.2 * root)
    noise = np.triu(rng.normal(size=(d, d)), 1) * (sd / math.sqrt(2) if isometric else sd)
    noise = noise + noise.T + np.diag(rng.normal(size=d) * sd)
    g = rng.normal(size=d) * noise_sd
    penalty = 0.05 * np.eye(d)
    used = 0.9 * (gram + noise) + 0.1 * np.eye(d)
    move = np.linalg.solve(used + penalty, score + g)
    exact = np.linalg.solve(gram + penalty, score)
    system = ReleasedSystem(gram + noise, used, sd, isometric, penalty, move, noise_sd, back)
    return system, float(np.linalg.norm(back @ (move - exact)))
