"""Samples of any number, chunk by chunk: where they come from, what is summed over them, and where the work is done.

| module | what it does |
| --- | --- |
| `sources` | arrays, `.npy` files, chunks from anywhere; parts of them that no fit may see |
| `tables` | inputs and labels in tables; files of text are read by `csv_files`, Parquet and Arrow by `arrow_files` |
| `frames` | DataFrames of any library, by the protocols of Arrow |
| `sums` | a `Statistic` turns rows into sums; `accumulate` adds them up, in this process or on a Dask cluster |
| `hermite` | what is measured of Gaussian inputs and their labels |

Memory does not depend on the number of rows: a chunk and the sums are all there is at any time.
"""
