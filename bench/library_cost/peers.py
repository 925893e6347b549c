"""Other profilers that a program can have inside, as Debian has them. Each is an environment."""
import glob
import shutil


def library(name):
    found = sorted(glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib/{name}"))
    return found[0] if found else None


def tcmalloc(interval):
    path = library("libtcmalloc.so.4")
    return path and {"LD_PRELOAD": path, "TCMALLOC_SAMPLE_PARAMETER": str(interval)}


def jemalloc(interval):
    """None of it without an interval."""
    path = library("libjemalloc.so.2")
    conf = f"prof:true,lg_prof_sample:{interval.bit_length() - 1}" if interval else "prof:false"
    return path and {"LD_PRELOAD": path, "MALLOC_CONF": conf}


def heaptrack():
    path = library("heaptrack/libheaptrack_preload.so")
    return path and {"LD_PRELOAD": path, "DUMP_HEAPTRACK_OUTPUT": "/dev/null"}


def gperftools(output):
    """The CPU profiler of google-perftools, asked for as few samples of its own as it can do."""
    path = library("libprofiler.so.0")
    return path and {"LD_PRELOAD": path, "CPUPROFILE": str(output)}


def google_pprof():
    return shutil.which("google-pprof")
