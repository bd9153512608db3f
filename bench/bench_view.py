#!/usr/bin/env python3
"""bench_view.py PROGRAM LOG  how fast `soa view LOG` opens a long record, and how fast it can be scrubbed.

Scrubbing: random times; for each the frame, and the overview of 3 signals in 800 columns of the stretch that is visible (from
a second to everything).  One question on the way at a time, as the page does it."""
import importlib.util, os, random, statistics, struct, sys, time

program, log = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
here = os.path.dirname(os.path.abspath(__file__))
sys.argv[1:] = [program]
spec = importlib.util.spec_from_file_location("test_view", os.path.join(here, "..", "tests", "test_view.py"))
view = importlib.util.module_from_spec(spec)
spec.loader.exec_module(view)

def forget():
    """So that the next reading is from the disk."""
    fd = os.open(log, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


opened = []
for _ in range(5):
    forget()
    begun = time.monotonic()
    server = view.Server(log)
    client = view.Client(server.port)
    client.until(lambda: client.scene and client.state, "the scene")
    opened.append(time.monotonic() - begun)
    if len(opened) < 5:
        client.close()
        server.end()
time_line, scene = client.scene["time"], client.scene
print(f"{os.path.getsize(log) / 1e9:.2f} GB, {time_line['samples']} samples of {len(scene['signals'])} signals, "
      f"{len(scene['bodies']) - 1} bodies, {time_line['last'] - time_line['first']:.0f} s")
print(f"from start to scene, record not in memory: {statistics.median(opened):.3f} s, at most {max(opened):.3f} s")
dice = random.Random(1)
first, last = time_line["first"], time_line["last"]


def used():
    """Processor time of the server, s."""
    with open(f"/proc/{server.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scrub(name, seconds, overview):
    times, begun, before = [], time.monotonic(), used()
    while time.monotonic() - begun < seconds:
        t, at = dice.uniform(first, last), time.monotonic()
        assert client.ask(what="frame", t=t)
        if overview and len(times) % overview == 0:
            width = (last - first) * 10 ** dice.uniform(-3.5, 0)
            t0 = max(first, min(last - width, t - width / 2))
            signals = dice.sample(range(len(scene["signals"])), 3)
            data = client.ask(what="overview", signals=signals, t0=t0, t1=t0 + width, columns=800)
            assert struct.unpack_from("<IIII", data)[2] == 800
        times.append(time.monotonic() - at)
        time.sleep(0.003)  # the server takes a thousand messages a second
    times.sort()
    print(f"{name}: {len(times) / sum(times):.0f} a second; median {1e3 * times[len(times) // 2]:.2f} ms, "
          f"99 of 100 within {1e3 * times[len(times) * 99 // 100]:.2f} ms; {1e3 * (used() - before) / len(times):.2f} ms of "
          f"processor time in the server each")


scrub("frames at random times, from the disk at first", 4, 0)
scrub("the same with an overview of 3 x 800 each fifth time, from the disk at first", 6, 5)
scrub("the same with an overview each time", 6, 1)
client.close()
server.end()
sys.exit(view.failures > 0)
