"""The theorems, one function each: what is bounded, by how much, and whether the premises hold.

Inputs are public, released, or computed from releases; no function here can see a private row.
"""
