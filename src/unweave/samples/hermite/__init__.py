"""Hermite moments of labelled Gaussian samples: sums over chunks, in as few passes as the algorithms allow.

Convention, everywhere in this folder: probabilists' polynomials that are NOT normalised, ``He_2 = t^2 - 1`` and
``E[He_j He_k] = k! [j = k]``. The tensor ``He_k(z)`` has at an index in which coordinate i appears ``n_i`` times the
entry ``prod_i He_{n_i}(z_i)``; the moment of order k is ``T_k = E[y He_k(z)]``, a symmetric tensor, and the labels are
``sum_k <T_k, He_k(z)> / k!``. For a unit ``a relu(<w, z> + b)`` with ``|w| = 1`` it is ``a g_k(b) w^{(x) k}``.

| pass | needs | statistic | gives |
| --- | --- | --- | --- |
| 1 | | `InputMoments` | mean and covariance; with them `Coordinates.whitening` |
| 2 | coordinates | `GaussianityCheck` | whether the inputs are Gaussian enough |
| 2 | coordinates | `HermiteRegression(2)` or `LabelMoments(2)` | ``T_0..T_2``; with them `active_subspace` |
| 3 | subspace | `HermiteRegression(4)` or `(6)` | ``T_0..T_4`` or ``T_6``, free of the variance of lower orders |
| 3' | subspace, `Control` | `LabelMoments(3)` to `(6)` | the same where a regression has too many features |
| 3'' | subspace, `Control` | `ContractedMoments` | slices of high orders, whose tensors are never formed |
| 4 | directions, `Control` | `ContractedMoments`, no open mode | ``T_j(w, .., w)`` of all units and orders |

Statistics of the same pass go into `Together`. Whoever knows that the inputs are standard Gaussian begins with pass 2
and `Coordinates.identity`.

Variance: a polynomial of degree below k does not change ``T_k``, so it may be subtracted from the labels first. A
regression on all features up to a degree does so for every order at once; a `Control` does it with a polynomial from an
earlier pass. Both leave a bias of order 1/N from fitting and using the same rows; `Control.crossed` has none.
"""
