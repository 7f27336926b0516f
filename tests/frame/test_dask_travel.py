"""What travels between the workers of a Dask cluster: numbers about rows, and no rows."""

from typing import Any

import dask
import dask.dataframe
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, SchedulerPlugin, wait

from dpstats import dp_lm

_FREE = {"distributed.scheduler.bandwidth": 10**12, "distributed.scheduler.work-stealing": False}


class _Places(SchedulerPlugin):
    """On which worker every pass over a partition was done."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        if (start, finish) == ("processing", "memory") and "dpstats_pass" in str(key):
            self.seen.append(kwargs["worker"])


def test_partitions_stay_where_they_are() -> None:
    """All are with one of four workers; the others are idle, and the network is said to cost nothing."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(20_000, 6)), columns=[*"abcde", "y"])
    places = _Places()
    with (
        dask.config.set(_FREE),
        LocalCluster(4, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        first = next(iter(client.scheduler_info()["workers"]))
        data = dask.dataframe.from_pandas(table, npartitions=8).persist(workers=[first])
        wait(data)
        cluster.scheduler.add_plugin(places)
        dp_lm("y ~ a + b + c + d + e", data, public=table[:200], mu=1, seed=1)
    assert len(places.seen) >= 8 * 3
    assert set(places.seen) == {first}
