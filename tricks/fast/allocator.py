"""The memory allocator of the C library, told to keep what it has for the next minibatch."""

import ctypes
import platform
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
LARGEST = 1 << 28  # bytes


@cache
def keep_memory() -> None:
    """Let glibc reuse freed memory of up to 256 MB instead of returning it to the system, in the whole process.

    By default, it asks the system anew for every large tensor, and the system first clears each page of it. With other
    C libraries, this does nothing. Our commands and their workers call it; `train` leaves your process as it is.
    """
    if platform.libc_ver()[0] == "glibc":
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, LARGEST)
        mallopt(TRIM_THRESHOLD, 2 * LARGEST)
