#!/usr/bin/env python3
"""Real programs at real work with libvestal-preload.so in them: same output, same status, same files.

    VESTAL=build/vestal tests/e2e/test_host_programs.py
"""
import hashlib
import os
import shutil
import subprocess

from support.inside import PRELOAD, files, output, run
from support.tap import ROOT, Skip, main, scratch, test, vestal

BUSY = {"VESTAL_TYPES": "cpu,wall,alloc,heap,lock,threads", "VESTAL_RATE": "1000",
        "VESTAL_ALLOC_INTERVAL": "16KB"}
# Four threads that allocate, hash and compress, and a main thread that waits for them.
NODE = """
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib');
function churn(seed) {
  const kept = new Map();
  for (let i = 0; i < 60000; i++) {
    kept.set(i % 5000, { key: 'k' + ((i * 2654435761 + seed) >>> 0), list: [i, seed, String(i)] });
  }
  return crypto.createHash('sha256').update(JSON.stringify([...kept])).digest('hex');
}
if (isMainThread) {
  let left = 4; const told = [];
  for (let n = 0; n < 4; n++) {
    new Worker(__filename, { workerData: n }).on('message', text => { told[n] = text; })
      .on('exit', () => { if (!--left) {
        zlib.gzip(Buffer.alloc(3000000, 'vestal'), (fault, packed) =>
          console.log(told.join('\\n'), fault, zlib.gunzipSync(packed).length)); } });
  }
} else parentPort.postMessage(churn(workerData));
"""
# Garbage enough for many collections, threads, exceptions.
JAVA = """
import java.util.*; import java.util.concurrent.*; import java.lang.management.*;
public class Busy {
  static long churn(int seed) throws Exception {
    Map<Integer, byte[]> kept = new HashMap<>(); long sum = 0;
    for (int i = 0; i < 200000; i++) {
      byte[] bytes = new byte[64 + (i * 31 + seed) % 900]; bytes[0] = (byte) i;
      kept.put(i % 2000, bytes);
      try { if (i % 100 == 0) throw new IllegalStateException("x" + i); }
      catch (IllegalStateException e) { sum += e.getMessage().length(); }
      sum = sum * 31 + bytes.length;
    }
    return sum + kept.size();
  }
  public static void main(String[] a) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4); List<Future<Long>> told = new ArrayList<>();
    for (int n = 0; n < 8; n++) { final int seed = n; told.add(pool.submit(() -> churn(seed))); }
    for (Future<Long> one : told) System.out.println(one.get());
    pool.shutdown(); long collections = 0;
    for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
      collections += bean.getCollectionCount();
    System.out.println(collections > 3 ? "collected" : "not collected");
  }
}
"""


def same(command, name, rounds=2, **env):
    """Runs it without and with the library; the same is told, and there are profiles."""
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")
    plain = run(command, timeout=300, **env)
    for _ in range(rounds):
        pattern = output(name)
        done = run(command, timeout=300, preload=True, VESTAL_OUTPUT=pattern, **BUSY, **env)
        assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr), done
        assert files(pattern), "no profile"
        for path in files(pattern):
            vestal("show", path)
    return plain


def write(name, text):
    path = os.path.join(scratch(), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"no {program}")


@test
def node_with_workers_that_allocate_and_compress():
    need("node")
    done = same(["node", write("busy.js", NODE)], "node")
    assert done.stdout.strip().endswith("null 3000000"), done


def add_java_tests():
    for collector in ("Serial", "Parallel", "G1"):
        def check(collector=collector):
            need("java", "javac")
            folder = os.path.join(scratch(), "java")
            os.makedirs(folder, exist_ok=True)
            source = write("java/Busy.java", JAVA)
            # The compiler is a program at work as well.
            if not os.path.exists(f"{folder}/Busy.class"):
                same(["javac", "-d", folder, source], "javac", rounds=1)
            done = same(["java", "-Xmx64m", f"-XX:+Use{collector}GC", "-cp", folder, "Busy"],
                        f"java-{collector}")
            assert done.stdout.endswith("collected\n") and "not" not in done.stdout, done
        check.__name__ = f"java_with_threads_exceptions_and_the_{collector}_collector"
        test(check)


add_java_tests()


@test
def git_clones_commits_merges_and_packs():
    need("git")
    script = """set -e
        rm -rf a b; git init -q -b main a; cd a; export GIT_AUTHOR_DATE=@1700000000 GIT_COMMITTER_DATE=@1700000000
        git config user.name x; git config user.email x@x
        for i in 1 2 3 4 5 6 7 8; do seq $i 5000 > f$i; git add .; git commit -q -m $i; done
        git checkout -q -b side; echo side >> f1; git commit -q -am side
        git checkout -q main; echo main >> f2; git commit -q -am main; git merge -q -m both side
        git gc -q --aggressive --prune=now; git fsck --no-progress; git grep -c 4242
        cd ..; git clone -q a b; git -C b log --format='%H %s'; git -C b status --short; git -C b diff HEAD~3 --stat"""
    done = same(["bash", "-c", script], "git", rounds=1)
    assert "both" in done.stdout, done


@test
def gcc_makes_the_same_object():
    need("gcc")
    folder = scratch()
    source = f"{ROOT}/src/model/dict.c"
    digests = []
    command = ["gcc", "-O2", "-g0", f"-I{ROOT}/src", "-D_GNU_SOURCE", "-c", source, "-o", f"{folder}/object.o"]
    for preload in (False, True, True):
        run(command, timeout=300, preload=preload, VESTAL_OUTPUT=output("gcc"), **BUSY)
        with open(f"{folder}/object.o", "rb") as file:
            digests.append(hashlib.sha256(file.read()).hexdigest())
    assert len(set(digests)) == 1, digests


@test
def make_with_many_short_processes():
    need("make")
    write("Makefile", "all: $(foreach n,$(shell seq 40),out$(n))\n\tcat out* | sort -n | md5sum\n"
                      "out%:\n\t@echo $* | sed s/^/1/ > $@\n")
    folder = scratch()

    def clean():
        subprocess.run("rm -f out*", shell=True, check=True, cwd=folder)
    clean()
    plain = run(["make", "-s", "-j4"])
    clean()
    done = run(["make", "-s", "-j4"], timeout=300, preload=True, VESTAL_OUTPUT=output("make"), **BUSY)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr), done


main()
