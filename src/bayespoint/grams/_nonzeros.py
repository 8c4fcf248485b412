"""Inner products of rows that are mostly zeros with dense ones, compiled: imported when first needed."""

from __future__ import annotations

from .._core.compiling import compiled

__all__ = ["inner_products"]


@compiled(nogil=True, fastmath={"contract"})
def inner_products(starts, features, values, columns, out):  # type: ignore[no-untyped-def]
    """``out[i] = sum_k values[k] columns[features[k]]`` over the non-zero features k of row i, eight at a time."""
    width = columns.shape[1]
    for i in range(len(out)):
        total = out[i]
        total[:] = 0.0
        k, stop = starts[i], starts[i + 1]
        while k + 7 < stop:
            a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
            e, f, g, h = values[k + 4], values[k + 5], values[k + 6], values[k + 7]
            col_a, col_b, col_c, col_d = (
                columns[features[k]],
                columns[features[k + 1]],
                columns[features[k + 2]],
                columns[features[k + 3]],
            )
            col_e, col_f, col_g, col_h = (
                columns[features[k + 4]],
                columns[features[k + 5]],
                columns[features[k + 6]],
                columns[features[k + 7]],
            )
            for j in range(width):
                total[j] += ((a * col_a[j] + b * col_b[j]) + (c * col_c[j] + d * col_d[j])) + (
                    (e * col_e[j] + f * col_f[j]) + (g * col_g[j] + h * col_h[j])
                )
            k += 8
        while k < stop:
            a, col_a = values[k], columns[features[k]]
            for j in range(width):
                total[j] += a * col_a[j]
            k += 1
