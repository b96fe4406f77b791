"""Samples of any number, chunk by chunk: where they come from, what is summed over them, and where the work is done.

| module | what it does |
| --- | --- |
| `sources` | arrays, `.npy` files, chunks from anywhere; `parquet` reads Parquet files |
| `sums` | a `Statistic` turns rows into sums; `Sums` adds, merges and finalises them, in two halves |
| `engines` | `accumulate` runs a statistic over a source, in this process or on a Dask cluster |

Memory does not depend on the number of rows: a chunk and the sums are all there is at any time.
"""
