"""Rows that stay where they are: expectation propagation over partitions, here or with the workers of dask."""

from .engine import PartitionedEP, posterior_of
from .partitions import Partition, dask_partitions
from .samples import Sample, gather_sample

__all__ = ["Partition", "PartitionedEP", "Sample", "dask_partitions", "gather_sample", "posterior_of"]
