"""The product of two matrices as numba compiles it, in registers. Matrices are float32, and travel as addresses."""

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
STRIPS = (WIDE, LANES), (1, LANES), (1, 4), (1, 2), (1, 1)  # of a row of C: vectors, and numbers in each
f4 = np.float32


@intrinsic
def multiply(context, a, a_row, a_column, b, c, rows, columns, depth):
    """C ← C + AB, one strip of neighboring columns after another, the widest that fits. Distances in A are in bytes."""

    def code(context, builder, signature, arguments):
        a, a_row, a_column, b, c, rows, columns, depth = arguments
        line, done = builder.mul(columns, INT(4)), INT(0)
        for vectors, lanes in STRIPS:
            width = INT(vectors * lanes)
            count = builder.sdiv(builder.sub(columns, done), width)
            with cgutils.for_range(builder, count) as loop:
                start = builder.mul(builder.add(done, builder.mul(loop.index, width)), INT(4))
                at = (a, a_row, a_column, builder.add(b, start), builder.add(c, start), line, rows, depth)
                strip(builder, vectors, lanes, *at)
            done = builder.add(done, builder.mul(count, width))
        return context.get_dummy_value()

    return types.void(*(types.int64,) * 8), code


def strip(builder, vectors, lanes, a, a_row, a_column, b, c, line, rows, depth):
    """Write the code for `vectors`·`lanes` neighboring columns, a few rows at a time in registers."""
    vector, height = ir.VectorType(FLOAT, lanes), max(ROWS, 8 // vectors)  # 8 sums at least, as one takes four cycles
    spread, kind = ir.VectorType(LANE, lanes)([0] * lanes), ir.FunctionType(vector, [vector] * 3)
    fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{lanes}f32")

    def at(address, kind, steps, step):
        """A pointer to what lies so many steps further on."""
        return builder.inttoptr(builder.add(address, builder.mul(step, INT(steps))), kind.as_pointer())

    def block(first, count):
        """The rows from `first` on: cᵢ ← cᵢ + Σₖ aᵢₖ·bₖ."""
        there = builder.add(c, builder.mul(first, line))
        lines = [builder.add(there, builder.mul(line, INT(r))) for r in range(count)]
        places = [at(each, vector, v, INT(4 * lanes)) for each in lines for v in range(vectors)]
        sums = [cgutils.alloca_once(builder, vector) for _ in places]
        for place, total in zip(places, sums, strict=True):
            builder.store(builder.load(place, align=4), total)
        here = builder.add(a, builder.mul(first, a_row))
        with cgutils.for_range(builder, depth) as loop:
            column = builder.add(here, builder.mul(loop.index, a_column))
            row = builder.add(b, builder.mul(loop.index, line))
            factors = [builder.load(at(row, vector, v, INT(4 * lanes)), align=4) for v in range(vectors)]
            for r in range(count):
                number = builder.load(at(column, FLOAT, r, a_row), align=4)
                lone = builder.insert_element(vector(ir.Undefined), number, LANE(0))
                everywhere = builder.shuffle_vector(lone, vector(ir.Undefined), spread)
                for total, factor in zip(sums[r * vectors :], factors, strict=False):
                    builder.store(builder.call(fma, [everywhere, factor, builder.load(total)]), total)
        for place, total in zip(places, sums, strict=True):
            builder.store(builder.load(total), place, align=4)

    done = INT(0)
    for count in (height, 1):
        blocks = builder.sdiv(builder.sub(rows, done), INT(count))
        with cgutils.for_range(builder, blocks) as loop:
            block(builder.add(done, builder.mul(loop.index, INT(count))), count)
        done = builder.mul(blocks, INT(count))


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
    multiply(a, 4 * a_row, 4 * a_column, b, c, rows, columns, depth)
