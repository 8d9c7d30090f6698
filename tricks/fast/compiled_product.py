"""The product of two matrices as numba compiles it, in registers. Matrices are float32, and travel as addresses."""

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tricks.fast.kernels import kernel

HAS = binding.get_host_cpu_features()
if binding.get_process_triple().startswith(("x86", "i")) and not HAS.get("fma"):
    raise ImportError("this CPU has no fused multiply-add")
LANES = 16 if HAS.get("avx512f") else 8 if HAS.get("avx2") else 4  # numbers in a vector register
ROWS, WIDE = 4, 4 if LANES == 16 or not HAS.get("avx2") else 2  # rows and vectors of C in registers at once
FLOAT, INT, LANE = ir.FloatType(), ir.IntType(64), ir.IntType(32)
f4 = np.float32


def strip(vectors: int, lanes: int) -> Any:
    """A function that computes `vectors`·`lanes` neighboring columns of C + AB, a few rows at a time in registers.

    It takes the address of A and the distances between its rows and between its columns, those of B and of its rows,
    and of C and of its rows, and the numbers of rows and columns of A. Distances are in bytes.
    """
    vector, height = ir.VectorType(FLOAT, lanes), max(ROWS, 8 // vectors)  # 8 sums at least, as one takes four cycles
    spread = ir.VectorType(LANE, lanes)([0] * lanes)

    @intrinsic
    def computed(context, a, a_row, a_column, b, b_row, c, c_row, rows, depth):
        def code(context, builder, signature, arguments):
            a, a_row, a_column, b, b_row, c, c_row, rows, depth = arguments
            kind = ir.FunctionType(vector, [vector] * 3)
            fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{lanes}f32")

            def at(address, kind, steps, step):
                """A pointer to what lies so many steps further on."""
                return builder.inttoptr(builder.add(address, builder.mul(step, INT(steps))), kind.as_pointer())

            def block(first, count):
                """The rows from `first` on: cᵢ ← cᵢ + Σₖ aᵢₖ·bₖ."""
                there = builder.add(c, builder.mul(first, c_row))
                lines = [builder.add(there, builder.mul(c_row, INT(r))) for r in range(count)]
                places = [at(line, vector, v, INT(4 * lanes)) for line in lines for v in range(vectors)]
                sums = [cgutils.alloca_once(builder, vector) for _ in places]
                for place, total in zip(places, sums, strict=True):
                    builder.store(builder.load(place, align=4), total)
                here = builder.add(a, builder.mul(first, a_row))
                with cgutils.for_range(builder, depth) as loop:
                    column = builder.add(here, builder.mul(loop.index, a_column))
                    row = builder.add(b, builder.mul(loop.index, b_row))
                    factors = [builder.load(at(row, vector, v, INT(4 * lanes)), align=4) for v in range(vectors)]
                    for r in range(count):
                        number = builder.load(at(column, FLOAT, r, a_row), align=4)
                        lone = builder.insert_element(vector(ir.Undefined), number, LANE(0))
                        everywhere = builder.shuffle_vector(lone, vector(ir.Undefined), spread)
                        for total, factor in zip(sums[r * vectors :], factors, strict=False):
                            builder.store(builder.call(fma, [everywhere, factor, builder.load(total)]), total)
                for place, total in zip(places, sums, strict=True):
                    builder.store(builder.load(total), place, align=4)

            blocks = builder.sdiv(rows, INT(height))
            with cgutils.for_range(builder, blocks) as loop:
                block(builder.mul(loop.index, INT(height)), height)
            with cgutils.for_range(builder, rows, start=builder.mul(blocks, INT(height))) as loop:
                block(loop.index, 1)
            return context.get_dummy_value()

        return types.void(*(types.int64,) * 9), code

    return computed


wide, narrow, four, two, one = strip(WIDE, LANES), strip(1, LANES), strip(1, 4), strip(1, 2), strip(1, 1)


@intrinsic
def pointer(context, address):
    """The address as a pointer to float32."""

    def code(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.int64), code


@njit(inline="always")
def matrix(address, rows, columns):
    """What lies at an address, [rows, columns]."""
    return carray(pointer(address), (rows, columns))


@kernel("(i8, i8, i8, i8, i8, i8, i8, i8)")
def product(a, a_row, a_column, b, c, rows, columns, depth):
    """C [rows, columns] ← C + AB. Distances within A are in numbers: B and C have their rows one after the other."""
    a_row, a_column, line = 4 * a_row, 4 * a_column, 4 * columns
    j = 0
    while j < columns:
        left, b_j, c_j = columns - j, b + 4 * j, c + 4 * j
        if left >= WIDE * LANES:
            wide(a, a_row, a_column, b_j, line, c_j, line, rows, depth)
            j += WIDE * LANES
        elif left >= LANES:
            narrow(a, a_row, a_column, b_j, line, c_j, line, rows, depth)
            j += LANES
        elif left >= 4:
            four(a, a_row, a_column, b_j, line, c_j, line, rows, depth)
            j += 4
        elif left >= 2:
            two(a, a_row, a_column, b_j, line, c_j, line, rows, depth)
            j += 2
        else:
            one(a, a_row, a_column, b_j, line, c_j, line, rows, depth)
            j += 1
