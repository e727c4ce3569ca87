# SPDX-License-Identifier: GPL-2.0-or-later
"""libcoloc from Python by ctypes (coloc.h, libcoloc(3)): which cores a process of a co-located step
was granted, and how fast it gets on. Run as a program it counts three steps and says what it got.
COLOC_LIBRARY names the library where it is not installed."""

import ctypes
import os


class Coloc:
    """One handle; without a daemon all methods do nothing, and granted() is (0, 0)."""

    def __init__(self, library=None):
        lib = ctypes.CDLL(library or os.environ.get("COLOC_LIBRARY", "libcoloc.so.0"))
        handle, uint = ctypes.c_void_p, ctypes.c_uint32
        for name, result, args in (
            ("attach", handle, []),
            ("detach", None, [handle]),
            ("is_attached", ctypes.c_int, [handle]),
            ("progress", None, [handle, ctypes.c_double]),
            ("unit", None, [handle, ctypes.c_char_p]),
            ("counter", None, [handle, ctypes.c_char_p, ctypes.c_double]),
            ("granted", ctypes.c_int, [handle, ctypes.POINTER(uint)]),
            ("cores", ctypes.c_int, [handle, ctypes.POINTER(ctypes.c_int), ctypes.c_int]),
            ("wait", ctypes.c_int, [handle, uint, ctypes.c_int]),
        ):
            function = getattr(lib, "coloc_" + name)
            function.restype, function.argtypes = result, args
        self._lib = lib
        self._c = lib.coloc_attach()

    def close(self):
        if self._c:
            self._lib.coloc_detach(self._c)
        self._c = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def is_attached(self):
        return bool(self._lib.coloc_is_attached(self._c))

    def unit(self, name):
        """What is counted, at most 8 characters."""
        self._lib.coloc_unit(self._c, name.encode())

    def progress(self, units=1.0):
        self._lib.coloc_progress(self._c, units)

    def counter(self, name, value):
        self._lib.coloc_counter(self._c, name.encode(), value)

    def granted(self):
        """(cores, generation); 0 cores: unknown."""
        generation = ctypes.c_uint32(0)
        return self._lib.coloc_granted(self._c, ctypes.byref(generation)), generation.value

    def cores(self):
        """The granted CPUs' numbers."""
        cpus = (ctypes.c_int * 1024)()
        n = self._lib.coloc_cores(self._c, cpus, len(cpus))
        return list(cpus[: min(n, len(cpus))])

    def wait(self, generation, timeout_s=-1):
        """True: the grant is another than generation's."""
        ms = -1 if timeout_s < 0 else int(timeout_s * 1000)
        return self._lib.coloc_wait(self._c, generation, ms) == 1


if __name__ == "__main__":
    with Coloc() as c:
        c.unit("steps")
        for _ in range(3):
            c.progress()
        print("attached", int(c.is_attached()), "cores", c.granted()[0])
