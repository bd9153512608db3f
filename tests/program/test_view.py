#!/usr/bin/env python3
"""test_view.py PROGRAM  soa view as a page sees it: live runs, replays, machines; who is turned away; what a slow, broken or
hostile client can do (nothing).  Standard library only; the WebSocket client is below.  SOA_VIEW_SEED sets the seed of the
fuzzer, SOA_VIEW_FUZZ the number of its messages."""
import base64, hashlib, json, math, os, random, re, select, shutil, signal, socket, struct, subprocess, sys, tempfile, time

program = os.path.abspath(sys.argv[1])
sanitized = bool(os.environ.get("SOA_SANITIZE"))
slack = 6 if sanitized else 1  # waits are so much longer
seed = int(os.environ.get("SOA_VIEW_SEED", "1"))
fuzzed = int(os.environ.get("SOA_VIEW_FUZZ", "1500" if sanitized else "6000"))
folder = tempfile.mkdtemp()
os.environ["TMPDIR"] = folder + "/tmp"
os.mkdir(os.environ["TMPDIR"])
failures = tests = 0


def check(fine, what):
    global failures, tests
    tests += 1
    if not fine:
        failures += 1
        print("FAILED", what, flush=True)
    return fine


def near(got, expected, tolerance, what):
    check(abs(got - expected) <= tolerance, f"{what}: got {got!r}, expected {expected!r}")


# --- a WebSocket client -----------------------------------------------------------------------------------------------
class Gone(Exception):
    pass


class Client:
    def __init__(self, port, path="/socket", host=None, origin="own", protocol="soa-view-1", buffer=None):
        host = host or f"127.0.0.1:{port}"
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(20 * slack)
        self.socket.connect(("127.0.0.1", port))
        self.bytes = bytearray()
        self.scene = self.state = self.error = self.frame = None
        self.events, self.answers, self.states, self.errors, self.frames, self.summaries = [], {}, 0, 0, 0, 0
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode()]
        if origin:
            lines.append("Origin: " + ("http://" + host if origin == "own" else origin))
        if protocol:
            lines.append("Sec-WebSocket-Protocol: " + protocol)
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        try:
            while b"\r\n\r\n" not in self.bytes:
                self.more()
        except (Gone, OSError):
            pass
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        self.status = int(head.split()[1]) if head else 0

    def more(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise Gone()
        self.bytes += data

    def take(self, n):
        while len(self.bytes) < n:
            self.more()
        out = bytes(self.bytes[:n])
        del self.bytes[:n]
        return out

    def put(self, kind, data, final=True, mask=True):
        n, bit, key = len(data), 128 if mask else 0, os.urandom(4)
        size = bytes([n | bit]) if n < 126 else bytes([126 | bit]) + struct.pack(">H", n) if n < 65536 \
            else bytes([127 | bit]) + struct.pack(">Q", n)
        if mask:
            data = key + bytes(c ^ key[i & 3] for i, c in enumerate(data))
        self.socket.sendall(bytes([kind | (128 if final else 0)]) + size + data)

    def say(self, **message):
        if "what" in message:
            message["do"] = message.pop("what")
        self.put(1, json.dumps(message).encode())

    def message(self):
        """The next message: a dict, or bytes; what it says is kept."""
        data, kind = b"", 0
        while True:
            a, b = self.take(2)
            n = b & 127
            if n == 126:
                n = struct.unpack(">H", self.take(2))[0]
            elif n == 127:
                n = struct.unpack(">Q", self.take(8))[0]
            part = self.take(n)
            if a & 15 == 8:
                raise Gone(part)
            if a & 15 == 9:
                self.put(10, part)
                continue
            if a & 15 == 10:
                continue
            kind = a & 15 or kind
            data += part
            if a & 128:
                break
        if kind == 2:
            k, ident = struct.unpack_from("<II", data)
            if k == 1 and not ident:
                self.frame, self.frames = data, self.frames + 1
            elif k == 1 or ident:
                self.answers[ident] = data
            return data
        x = json.loads(data)
        if x["kind"] == "scene":
            self.scene = x
            self.events = x["events"]
        elif x["kind"] == "state":
            self.state, self.states = x, self.states + 1
        elif x["kind"] == "events":
            self.events[x["from"]:] = x["list"]
        elif x["kind"] == "summary":
            self.scene["summary"], self.scene["notes"], self.summaries = x["summary"], x["notes"], self.summaries + 1
        elif x["kind"] == "error":
            self.error, self.errors = x["text"], self.errors + 1
        return x

    def until(self, true, what, seconds=20):
        end = time.monotonic() + seconds * slack
        while not true():
            if time.monotonic() > end:
                check(False, f"waited in vain: {what} (state {self.state}, error {self.error})")
                return False
            self.message()
        return True

    def wait_state(self, true, what, seconds=20):
        return self.until(lambda: self.state is not None and true(self.state), what, seconds)

    def ask(self, **message):
        ident = message["id"] = random.randrange(1, 1 << 31)
        self.error = None
        self.say(**message)
        self.until(lambda: ident in self.answers or self.error, f"an answer to {message}")
        return self.answers.pop(ident, None)

    def command(self, **message):
        """Sends, and waits for the state that follows it."""
        before = self.states
        self.say(**message)
        self.until(lambda: self.states > before, f"a state after {message}")

    def drain(self, seconds=0.3):
        """What is on the way; a live run never ends to tell."""
        end = time.monotonic() + seconds * slack
        while time.monotonic() < end and select.select([self.socket], [], [], 0.05)[0]:
            self.message()

    def close(self):
        self.socket.close()


class Frame:
    def __init__(self, data):
        self.kind, self.id, self.t, self.phase, b, c, n = struct.unpack_from("<IIdiIII", data)
        x = struct.unpack_from(f"<{7 * b + 9 + 8 * c + 7 * n}f", data, 32)
        self.size = 32 + 4 * len(x)
        self.places = [x[7 * i:7 * i + 7] for i in range(b)]
        self.com = x[7 * b:7 * b + 3]


servers = []


class Server:
    def __init__(self, *words, environment=None):
        self.process = subprocess.Popen([program, "view", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        cwd=folder, env=environment)
        servers.append(self.process)
        self.address = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/(\?token=(.*))?", self.address)
        check(match, f"an address is printed: {self.address!r} for {words}")
        if not match:
            print(self.process.stderr.read())
            sys.exit(1)
        self.port, self.token = int(match[1]), match[3]
        self.path = "/socket?token=" + self.token

    def client(self, path=None, **more):
        c = Client(self.port, path or self.path, **more)
        check(c.status == 101, f"a socket is opened: {c.status}")
        c.until(lambda: c.scene and c.state, "the scene")
        return c

    def end(self, code=0, how=signal.SIGINT):
        if how:
            self.process.send_signal(how)
        try:
            got = self.process.wait(20 * slack)
        except subprocess.TimeoutExpired:
            self.process.kill()
            got = "nothing: it goes on"
        said = self.process.stderr.read()
        self.process.stdout.close(), self.process.stderr.close()
        check(got == code, f"it ends with {code}: {got}: {said[:2000]}")
        check("runtime error" not in said and "Sanitizer" not in said, "no sanitizer speaks: " + said[:2000])
        return said

    def raw(self, data, wait=10):
        """Sends bytes, gives what comes back until the connection is closed or all of a page is there."""
        s = socket.create_connection(("127.0.0.1", self.port))
        s.settimeout(wait * slack)
        got = b""
        try:
            s.sendall(data)
            while True:
                more = s.recv(1 << 20)
                if not more:
                    break
                got += more
                head, gap, body = got.partition(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", head.lower())
                if gap and length and (data.startswith(b"HEAD ") or len(body) >= int(length[1])):
                    break
        except OSError:
            pass
        s.close()
        return got

    def get(self, path, host=None, origin=None, method="GET", wait=10):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or '127.0.0.1:%d' % self.port}"]
        if origin:
            lines.append("Origin: " + origin)
        got = self.raw(("\r\n".join(lines) + "\r\n\r\n").encode(), wait)
        head, _, body = got.partition(b"\r\n\r\n")
        return (int(head.split()[1]) if head else 0), head.decode("latin-1").lower(), body


def write(name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)
    return name


def soa(*words):
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)
    check(done.returncode in (0, 1), f"soa {' '.join(words)}: {done.returncode} {done.stderr[:500]}")
    return done.stdout


def table(log):
    """Names, times and rows of a record by soa export."""
    soa("export", log, "-o", "table.csv")
    with open(os.path.join(folder, "table.csv")) as file:
        lines = file.read().splitlines()
    names = [re.sub(r" \[[^\]]*\]$", "", n.strip('"')) for n in lines[0].split(",")]
    rows = [[float(x) if x else math.nan for x in line.split(",")] for line in lines[1:]]
    return names[1:], [r[0] for r in rows], [r[1:] for r in rows]


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def compare_with_table(client, log, name):
    """Overviews, samples and frames against the exported table, by plain search."""
    names, times, rows = table(log)
    check([s["name"] for s in client.scene["signals"]] == names, f"{name}: the signals are the table's columns")
    dice = random.Random(seed)
    wrong = 0
    for trial in range(6):
        chosen = dice.sample(range(len(names)), min(3, len(names)))
        t0 = dice.uniform(times[0], times[-1])
        t1 = t0 + dice.choice([0.05, 0.5, 5]) if trial else times[-1]
        t0, columns = (t0, dice.randrange(1, 200)) if trial else (times[0], 50)
        data = client.ask(what="overview", signals=chosen, t0=t0, t1=t1, columns=columns)
        if not data:
            wrong += 1
            continue
        kind, _, n, s, a, b = struct.unpack_from("<IIIIdd", data)
        numbers = struct.unpack_from(f"<{s}I", data, 32)
        at = 32 + 4 * (s + s % 2)
        x = struct.unpack_from(f"<{2 * s * n}f", data, at)
        wrong += not (kind == 2 and n == columns and list(numbers) == chosen and (a, b) == (t0, t1)
                      and len(data) == at + 8 * s * n)
        width = (t1 - t0) / columns
        for i, signal_number in enumerate(chosen):
            for c in range(columns):
                low, high, edge = math.inf, -math.inf, False
                for t, row in zip(times, rows):
                    u = (t - t0) / width if width > 0 else 0
                    if abs(u - round(u)) < 1e-6 and c - 1e-3 < u < c + 1 + 1e-3:
                        edge = True  # which column a sample on the edge belongs to is a matter of rounding
                    if c <= u < c + 1 or (c == columns - 1 and t == t1):
                        y = row[signal_number]
                        if not math.isnan(y):
                            low, high = min(low, y), max(high, y)
                if edge:
                    continue
                got = (x[i * n + c], x[s * n + i * n + c])
                if low > high:
                    wrong += not (math.isnan(got[0]) and math.isnan(got[1]))
                else:
                    wrong += got != (f32(low), f32(high))
    check(wrong == 0, f"{name}: overviews are what a search of the table finds ({wrong} wrong)")
    wrong = 0
    for trial in range(4):
        chosen = dice.sample(range(len(names)), min(4, len(names)))
        t0 = dice.uniform(times[0], times[-1])
        t1 = t0 + 0.3
        data = client.ask(what="samples", signals=chosen, t0=t0, t1=t1)
        if not data:
            wrong += 1
            continue
        kind, _, n, s, more, _ = struct.unpack_from("<IIIIII", data)
        at = 24 + 4 * (s + s % 2)
        got_t = struct.unpack_from(f"<{n}d", data, at)
        got = struct.unpack_from(f"<{n * s}d", data, at + 8 * n)
        want = [(t, [row[k] for k in chosen]) for t, row in zip(times, rows) if t0 <= t <= t1]
        wrong += not (kind == 3 and not more and list(got_t) == [t for t, _ in want])
        for k, (_, row) in enumerate(want):
            wrong += any(g != y and not (math.isnan(g) and math.isnan(y)) for g, y in zip(got[k * s:k * s + s], row))
    check(wrong == 0, f"{name}: samples are those of the table, to the bit ({wrong} wrong)")
    wrong = 0
    for trial in range(20):
        t = dice.uniform(times[0], times[-1])
        data = client.ask(what="frame", t=t)
        wrong += not data or Frame(data).t != max(x for x in times if x <= t) or Frame(data).size != len(data)
    check(wrong == 0, f"{name}: scrubbing gives the last sample not after t ({wrong} wrong)")


# --- a live run -------------------------------------------------------------------------------------------------------
def live():
    server = Server("grapple", "--paused", "--record", "live.soalog")
    c = server.client()
    scene = c.scene
    check(scene["version"] == 1 and scene["live"] and scene["source"] == "scenario" and scene["title"] == "grapple",
          "the scene of a live run")
    check(len(scene["bodies"]) == 15 and scene["bodies"][0]["name"] == "world", f"bodies: {len(scene['bodies'])}")
    check({"q.robot.left_joint1", "energy.kinetic", "control.phase"} <= {s["name"] for s in scene["signals"]}, "signals")
    check(not c.state["playing"] and c.state["t"] == 0, f"it waits: {c.state}")
    tick = scene["time"]["tick"]
    for count, total in ((1, 1), (1, 2), (7, 9)):
        c.say(what="step", count=count)
        c.wait_state(lambda s: s["ticks"] >= total, f"{total} steps")
        time.sleep(0.05)
        c.drain()
        check(c.state["ticks"] == total and not c.state["playing"], f"exactly {total} ticks: {c.state['ticks']}")
        near(c.state["t"], total * tick, 1e-12, "time of a step")
    c.until(lambda: c.frame and Frame(c.frame).t == c.state["t"], "the frame after a step")

    begun, t = time.monotonic(), c.state["t"]
    c.command(what="play")
    c.wait_state(lambda s: s["t"] > t + 0.8, "it plays")
    passed, speed = time.monotonic() - begun, (c.state["t"] - t)
    check(speed / passed < 1.6, f"not faster than real time: {speed:.2f} s in {passed:.2f} s")
    frames = c.frames
    check(15 * speed / slack < frames <= 62 * passed + 10, f"frames are pushed, at most 60 a second: {frames} in {passed:.2f} s")
    check(c.state["playing"] and c.state["phase"] == "approach", f"state while it plays: {c.state}")
    c.command(what="pause")
    c.wait_state(lambda s: not s["playing"], "a pause")
    c.drain()
    still = c.state["ticks"]
    time.sleep(0.2)
    c.drain()
    c.command(what="speed", value=0)
    check(c.state["ticks"] == still, "paused it stays where it is")
    near(c.state["last"], c.state["t"], 0.0101, "the record reaches up to now")
    compare_with_table(c, "live.soalog", "live")

    # another client sees the same run, and both get the events
    d = server.client()
    check(d.state["ticks"] == still and d.scene["bodies"] == scene["bodies"], "two clients, one run")
    joint = next(b for b in scene["bodies"] if b.get("joint", {}).get("name") == "robot.left_joint2")
    hand = next(i for i, b in enumerate(scene["bodies"]) if b["name"] == "robot.left_link6")
    other = next(i for i, b in enumerate(scene["bodies"]) if b["name"] == "robot.right_link6")
    before = Frame(c.ask(what="frame", t=1e9))
    q = soa_value(c, "q.robot.left_joint2")
    c.command(what="joint", q=joint["joint"]["q"], value=q + 0.2)
    after = Frame(c.ask(what="frame", t=1e9))
    moved = math.dist(before.places[hand][:3], after.places[hand][:3])
    check(0.05 < moved < 0.5, f"a dragged slider moves the hand: {moved} m")
    near(math.dist(before.places[other][:3], after.places[other][:3]), 0, 1e-6, "and not the other one")
    check(c.state["ticks"] == still, "without a tick")
    d.until(lambda: d.frame and math.dist(Frame(d.frame).places[hand][:3], after.places[hand][:3]) < 1e-6,
            "the other client sees it")
    before = c.state["ticks"]
    c.say(what="step", count=20)
    c.wait_state(lambda s: s["ticks"] >= before + 20, "it goes on from there")
    check(not c.error, f"no error: {c.error}")
    number = next(i for i, s in enumerate(scene["signals"]) if s["name"] == "q.robot.left_joint2")
    data = c.ask(what="samples", signals=[number], t0=0, t1=1e9)
    n = struct.unpack_from("<I", data, 8)[0]
    times, values = struct.unpack_from(f"<{n}d", data, 32), struct.unpack_from(f"<{n}d", data, 32 + 8 * n)
    check(any(x == q + 0.2 for x in values), "the jump is in the record")
    c.until(lambda: any(e["kind"] == "hand" for e in c.events), "the record tells of the hand")
    check(any(e["kind"] == "phase" for e in c.events), f"events: {c.events[:5]}")

    # refused, and told so; the run is not touched
    for wrong in ({"what": "joint", "q": 99999, "value": 1}, {"what": "joint", "q": 0, "value": 1},
                  {"what": "pull", "body": 999, "at": [0, 0, 0], "to": [0, 0, 0]},
                  {"what": "frame", "t": "now", "id": 1}, {"what": "overview", "id": 1, "signals": [100000], "t0": 0, "t1": 1,
                                                          "columns": 5}):
        errors = c.errors
        c.say(**wrong)
        c.until(lambda: c.errors > errors, f"a complaint about {wrong}")

    c.command(what="reset")
    c.wait_state(lambda s: s["t"] == 0, "a reset")
    check(not c.state["playing"] and not c.state["ended"], f"after a reset: {c.state}")
    d.wait_state(lambda s: s["t"] == 0, "the other client sees the reset")
    c.command(what="play")
    c.wait_state(lambda s: s["t"] > 0.5, "it plays again")
    c.command(what="pause")
    c.wait_state(lambda s: not s["playing"], "a pause")
    c.drain()
    check(not any(e["kind"] == "hand" for e in c.events), "events begin anew")
    compare_with_table(c, "live-2.soalog", "after a reset")
    check(b"moved" in read("live.soalog") and b"moved" not in read("live-2.soalog"),
          "the record before the reset is kept, with what the hand did")
    c.close(), d.close()
    server.end()
    soa("sim", "--resume", "live-2.soalog", "--until", "1", "-q")
    soa("sim", "--resume", "live.soalog", "--until", "1", "-q")  # a run that was stopped can go on


def soa_value(client, name, t=None):
    """The last recorded value of a signal."""
    number = next(i for i, s in enumerate(client.scene["signals"]) if s["name"] == name)
    t = client.state["last"] if t is None else t
    data = client.ask(what="samples", signals=[number], t0=t - 0.1, t1=t)
    n = struct.unpack_from("<I", data, 8)[0]
    return struct.unpack_from(f"<{2 * n}d", data, 32)[-1]


drop = """name: drop
duration: 0.5
parts:
  - {name: ground, fixed: true, body: {}}
  - {name: ball, body: {mass: 0.1, sphere: 20 mm}, place: [0, 0, 0.05]}
shapes:
  - {name: floor, on: ground, plane: {}}
  - {name: skin, on: ball, sphere: 20 mm}
contacts:
  - {between: [skin, floor], law: hunt-crossley, stiffness: 1e6, friction: 0.4}
recording: {rate: 500, checkpoint: 0.1}
"""


def read(name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def to_the_end():
    """A run nobody touched leaves the bytes of soa sim; so does one after a reset."""
    write("drop.yaml", drop)
    soa("sim", "drop.yaml", "-q", "-o", "sim.soalog")
    server = Server("drop.yaml", "--speed", "0", "--record", "view.soalog")
    c = server.client()
    for name in ("view.soalog", "view-2.soalog"):
        c.wait_state(lambda s: s["ended"], "the end")
        near(c.state["t"], 0.5, 1e-9, "the end")
        check(read(name) == read("sim.soalog"), "the record is that of soa sim, to the byte")
        c.until(lambda: any(e["kind"] == "touch" for e in c.events), "a touch among the events")
        contact = Frame(c.ask(what="frame", t=0.5))
        check(contact.t == 0.5, "the last frame")
        errors = c.errors
        c.say(what="play")
        c.until(lambda: c.errors > errors, "after the end it must be reset")
        write("view-3.soalog", "somebody's work")
        c.command(what="reset")
        c.wait_state(lambda s: not s["ended"] and s["t"] == 0, "a reset after the end")
        c.until(lambda: "kept" in c.error, f"the page learns of the new record: {c.error}")
        c.command(what="play")
    c.wait_state(lambda s: s["ended"], "the end")
    c.command(what="reset")
    c.wait_state(lambda s: not s["ended"], "a reset")
    ticks = c.state["ticks"]
    c.say(what="step", count=1000)
    c.wait_state(lambda s: s["ended"], "stepped to the end")
    check(c.state["ticks"] == ticks + 250, f"in as many ticks as there are: {c.state['ticks'] - ticks}")
    kept = [f"view{k}.soalog" for k in ("", "-2", "-4", "-5")]
    check(all(read(k) == read("sim.soalog") for k in kept), "every run has a record of the same bytes")
    check(read("view-3.soalog") == b"somebody's work", "a file that was there is passed over")
    c.command(what="reset")
    c.wait_state(lambda s: not s["ended"], "a reset")
    for _ in range(3):
        c.command(what="reset")  # nothing has happened since
    c.drain()
    check("view-6.soalog" in os.listdir(folder) and "view-7.soalog" not in os.listdir(folder),
          "a reset of a run that has not begun leaves no file")
    c.close()
    server.end()


def pulls():
    write("lump.yaml", "name: lump\nduration: 1000\ngravity: [0, 0, 0]\nparts:\n"
          "  - {name: lump, body: {mass: 2, box: [0.2, 0.1, 0.1]}}\nrecording: {rate: 500}\n")
    server = Server("lump.yaml", "--speed", "0")
    c = server.client()
    c.wait_state(lambda s: s["t"] > 0.2, "it plays")
    c.command(what="pull", body=1, at=[0.1, 0, 0], to=[0.6, 0.3, -0.2])
    begun = c.state["t"]
    c.wait_state(lambda s: s["t"] > begun + 6, "pulled")
    c.command(what="pause")
    c.wait_state(lambda s: not s["playing"], "a pause")
    place = Frame(c.ask(what="frame", t=1e9)).places[1]
    w, x, y, z = place[3:]
    corner = [place[0] + 0.1 * (1 - 2 * (y * y + z * z)), place[1] + 0.2 * (x * y + w * z), place[2] + 0.2 * (x * z - w * y)]
    near(math.dist(corner, [0.6, 0.3, -0.2]), 0, 0.02, "the corner comes to where it is pulled")
    # a client that goes away lets go
    c.command(what="pull", body=1, at=[0, 0, 0], to=[50, 0, 0])
    d = server.client()
    c.close()
    d.command(what="play")
    begun = d.state["t"]
    d.wait_state(lambda s: s["t"] > begun + 2, "let go")
    speeds = [soa_value(d, "v.lump.root." + k) for k in ("vx", "vy", "vz")]
    check(math.hypot(*speeds) < 0.5, f"who goes away lets go: {speeds}")
    d.command(what="release")
    d.close()
    server.end()


def a_run_that_fails():
    """Where shapes overlap the paper's law has no value: the run ends there, says so, and can be reset."""
    write("paper.yaml", """name: paper
duration: 100
gravity: [0, 0, -50]
parts:
  - {name: ground, fixed: true, body: {}}
  - {name: ball, body: {mass: 1, sphere: 20 mm}, place: [0, 0, 0.5]}
shapes:
  - {name: floor, on: ground, plane: {}}
  - {name: skin, on: ball, sphere: 20 mm}
contacts:
  - {between: [skin, floor], law: paper, margin: 1 mm, stiffness: 1e-6, damping: 1e-6}
integration: {method: fixed, order: 4, step: 0.01}
recording: {rate: 100}
""")
    server = Server("paper.yaml", "--speed", "0", "--record", "paper.soalog")
    c = server.client()
    for _ in range(2):
        c.wait_state(lambda s: s["ended"], "the end")
        c.until(lambda: c.error and "kept" not in c.error, "why")
        check("overlap" in (c.error or ""), f"it says why: {c.error}")
        check(c.state["t"] < 1 and c.ask(what="frame", t=0.05), "what came before can be looked at")
        c.command(what="reset")
        c.wait_state(lambda s: not s["ended"] and s["t"] == 0, "a reset after a failure")
        c.error = None
        c.command(what="play")
    c.close()
    server.end()


rod = ('<robot name="l"><link name="b"/><joint name="j" type="continuous"><parent link="b"/><child link="c"/>'
       '<axis xyz="0 1 0"/></joint><link name="c"><inertial><origin xyz="0 0 1"/><mass value="1"/>'
       '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>')


def machines():
    server = Server("arm7")
    c = server.client()
    check(c.scene["source"] == "model" and not c.state["playing"], "a machine begins paused")
    check("gravity: [0, 0, -9.81]" in c.scene["scenario"], f"short numbers: {c.scene['scenario']}")
    joint = next(b for b in c.scene["bodies"] if b.get("joint", {}).get("nq") == 1)["joint"]
    before = Frame(c.ask(what="frame", t=0))
    c.command(what="joint", q=joint["q"], value=0.5)
    after = Frame(c.ask(what="frame", t=1e9))
    check(max(math.dist(a[3:], b[3:]) for a, b in zip(before.places, after.places)) > 0.2, "a slider of a machine at rest")
    c.close()
    server.end()
    server = Server("two-puma")  # without gravity: nothing swings about while a joint is led
    c = server.client()
    joint = next(b for b in c.scene["bodies"] if b.get("joint", {}).get("nq") == 1)["joint"]
    c.command(what="speed", value=0)
    c.command(what="play")
    c.command(what="joint", q=joint["q"], value=-0.3)
    c.wait_state(lambda s: s["t"] > 3, "it plays")
    c.command(what="pause")
    c.wait_state(lambda s: not s["playing"], "a pause")
    near(soa_value(c, "q." + joint["name"]), -0.3, 0.1, "a running joint is drawn to the slider")
    check(not c.error, f"no error: {c.error}")
    c.close()
    server.end()

    write("rod.urdf", rod)
    server = Server(os.path.join(folder, "rod.urdf"))
    c = server.client()
    check(c.scene["title"] == "rod.urdf", f"a file's page is called by its name alone: {c.scene['title']}")
    c.close()
    server.end()

    # meshes that are missing: told once, and before the address
    mesh = '<visual><geometry><mesh filename="package://gone/%d.stl"/></geometry></visual>'
    write("bare.urdf", rod.replace("</link></robot>", "".join(mesh % i for i in range(7)) + "</link></robot>"))
    both = subprocess.Popen([program, "view", "bare.urdf"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    servers.append(both)
    said = [both.stdout.readline() for _ in range(2)]
    both.send_signal(signal.SIGINT)
    said += both.communicate(timeout=20 * slack)[0].splitlines()
    check(said[0].startswith("soa view: note: 7 meshes of package 'gone' are not found: ") and said[1].startswith("http://")
          and not any("mesh" in line for line in said[2:]), f"missing meshes are told once, before the address: {said}")

    server = Server("four-bar")
    c = server.client()
    check(len(c.scene["constraints"]) >= 1, f"constraints of a machine: {c.scene['constraints']}")
    before = Frame(c.ask(what="frame", t=0))
    joints = [b["joint"] for b in c.scene["bodies"] if b.get("joint", {}).get("nq") == 1]
    c.command(what="joint", q=joints[0]["q"], value=c.scene["q"][joints[0]["q"]] + 0.1)
    after = Frame(c.ask(what="frame", t=1e9))
    turned = [math.dist(a[3:], b[3:]) for a, b in zip(before.places[1:], after.places[1:])]
    check(sum(x > 1e-3 for x in turned) >= 2, f"a loop takes the other links along: {turned}")
    c.close()
    server.end()


def replays():
    soa("sim", "grapple", "--until", "2", "-q", "-o", "replay.soalog")
    server = Server("replay.soalog", "--once")
    c = server.client()
    check(not c.scene["live"] and c.scene["source"] == "log" and len(c.scene["bodies"]) == 15, "the scene of a record")
    near(c.state["last"], 2, 0.01, "the end of the record")
    compare_with_table(c, "replay.soalog", "replay")
    for what in ("play", "step", "reset", "release"):
        errors = c.errors
        c.say(what=what)
        c.until(lambda: c.errors > errors, f"a record cannot {what}")
    c.put(8, struct.pack(">H", 1000))
    server.end(how=None)  # --once

    growing = Server("grapple", "--record", "growing.soalog")
    writer = growing.client()
    writer.wait_state(lambda s: s["t"] > 0.1, "it is written")
    server = Server("growing.soalog")
    c = server.client()
    first = c.state["last"]
    c.wait_state(lambda s: s["last"] > first + 0.5, "a record that grows is followed")
    check(c.ask(what="frame", t=c.state["last"]), "and scrubbed")
    c.close(), writer.close()
    server.end()
    growing.end()

    # a record whose scenario cannot be opened: plots only
    write("lost.yaml", "name: lost\nduration: 0.2\nparts: [{name: a, model: lost.urdf}]\nrecording: {rate: 100}\n")
    write("lost.urdf", rod)
    soa("sim", "lost.yaml", "-q", "-o", "lost.soalog")
    os.remove(os.path.join(folder, "lost.urdf"))
    server = Server("lost.soalog")
    c = server.client()
    check(c.scene["bodies"] == [] and "lost.urdf" in c.scene["text"], f"plots only: {c.scene['text']}")
    check(c.ask(what="overview", signals=[0], t0=0, t1=1, columns=10), "and they are there")
    check(not c.ask(what="frame", t=0) and c.error, "no frames")
    c.close()
    said = server.end()
    check("soa view: note: plots only.  The machine cannot be shown: " in said, f"and it is said: {said}")
    # no record, and half of one
    write("text.soalog", "hello")
    write("empty.soalog", "")
    with open(os.path.join(folder, "cut.soalog"), "wb") as file:
        file.write(read("lost.soalog")[:100])
    for name in ("text.soalog", "empty.soalog", "cut.soalog"):
        said = [subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=30 * slack)
                for words in (("view", name), ("export", name, "--list"))]
        check(said[0].returncode == 2 and said[0].stderr == said[1].stderr.replace("soa export", "soa view"),
              f"{name}: the journal's own words: {said[0].stderr} {said[1].stderr}")


def summaries():
    """The figures of a live run are those of soa sim, and change while it goes on."""
    write("drop.yaml", drop)
    soa("sim", "drop.yaml", "-q", "--summary", "drop.json")
    with open(os.path.join(folder, "drop.json")) as file:
        figures = json.load(file)
    server = Server("drop.yaml", "--paused", "--speed", "0.2")  # 2.5 s
    c = server.client()
    row = lambda name: dict(c.scene["summary"]).get(name, "")
    check(row("run") == "0 s so far" and row("energy balance"), f"there from the beginning: {c.scene['summary']}")
    c.command(what="play")
    c.until(lambda: c.summaries > 1 and "so far" in row("run"), "while it goes on")
    c.until(lambda: "ended" in row("run"), "that of the end")
    check(c.summaries < 8, f"about one a second: {c.summaries} in 2.5 s")
    check(row("integration") == "%d steps (%d tried again), %d evaluations" % (
        figures["steps"], figures["steps_rejected"], figures["evaluations"]), f"steps: {row('integration')}")
    check(row("contacts") == "%d touches, %d releases, %d slips" % (
        figures["touches"], figures["releases"], figures["slips"]), f"contacts: {row('contacts')}")
    check(row("energy balance") == "within %.1e of the largest" % figures["energy_error_rel"], "the balance")
    late = server.client()
    check(late.scene["summary"] == c.scene["summary"], "who comes later finds it")
    late.close()
    c.command(what="reset")
    c.until(lambda: row("run") == "0 s so far", "begun anew")
    before = c.summaries
    c.say(what="step", count=10)
    c.until(lambda: row("run") == "0.02 s so far", "also while it is stepped")
    check(c.summaries <= before + 2, f"not at every tick: {c.summaries - before}")
    c.close()
    server.end()


def damage():
    """A record of which a part cannot be read is shown as far as it goes, and the page is told."""
    soa("sim", "grapple", "--until", "2", "-q", "-o", "good.soalog")
    good = read("good.soalog")
    for name, data in (("good", good), ("flipped", good[:len(good) // 2] + bytes([good[len(good) // 2] ^ 255]) +
                                        good[len(good) // 2 + 1:]), ("torn", good[:len(good) * 2 // 3])):
        with open(os.path.join(folder, name + ".soalog"), "wb") as file:
            file.write(data)
        os.utime(os.path.join(folder, name + ".soalog"), (1e9, 1e9))  # nobody writes it any more
        server = Server(name + ".soalog")
        c = server.client()
        check(c.ask(what="samples", signals=[0], t0=0, t1=2), f"{name}: there is something to plot")
        if name == "good":
            c.drain()
            check(c.scene["notes"] == [], f"a good one has no notes: {c.scene['notes']}")
        else:
            c.until(lambda: c.scene["notes"], f"{name}: a note")
            check(re.fullmatch(r"damaged( or unfinished)? at byte \d+: nothing is shown after t = [01]\.\d+ s", c.scene["notes"][0]),
                  f"{name}: {c.scene['notes']}")
            check(["the record is", c.scene["notes"][0]] in c.scene["summary"], f"{name}: in the summary too")
            c.ask(what="samples", signals=[1], t0=0, t1=2)
            c.drain()
            late = server.client()
            check(late.scene["notes"] == c.scene["notes"] and len(c.scene["notes"]) == 1, f"{name}: told once, and to all")
            late.close()
        c.close()
        server.end()


def mistakes():
    """What an option or a file is not for."""
    write("drop.yaml", drop)
    write("rod.urdf", rod)
    write("page.html", "<!doctype html><html></html>")
    write("list.txt", "hello")
    soa("sim", "drop.yaml", "-q", "-o", "drop.soalog")
    for words, text in (
            (("drop.yaml", "--floating"), "drop.yaml is a scenario: --floating is for a MODEL alone"),
            (("grapple", "--floating"), "grapple is a shipped scenario: --floating is for a MODEL alone"),
            (("drop.soalog", "--floating"), "drop.soalog is a record: --floating is for a MODEL alone"),
            (("rod.urdf", "--case", "1"), "rod.urdf is no scenario: --seed and --case are for scenarios"),
            (("puma560", "--seed", "1"), "puma560 is no scenario: --seed and --case are for scenarios"),
            (("drop.yaml", "--case", "1"), "--case 1: drop.yaml has no sweep"),
            (("drop.soalog", "--case", "1"), "drop.soalog is a record"),
            (("page.html",), "page.html is a page of HTML; a browser opens it"),
            (("list.txt",), "list.txt is neither a record (.soalog), a scenario (.yaml) nor a model (URDF, .soam)")):
        process = subprocess.Popen([program, "view", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            said = process.communicate(timeout=10 * slack)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            said = "nothing: it goes on"
            process.communicate()
        check(process.returncode == 2 and text in said, f"{words}: {process.returncode} {said}")


# --- who is turned away -------------------------------------------------------------------------------------------------
def raw_head(server):
    got = server.raw(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
    return got.partition(b"\r\n\r\n")[0].decode("latin-1")


def strangers():
    write("drop.yaml", drop)
    server = Server("drop.yaml", "--paused")
    half = socket.create_connection(("127.0.0.1", server.port))  # half a request, and then nothing
    half.sendall(b"GET / HTTP/1.1\r\nHost: ")
    half_since = time.monotonic()
    own = f"127.0.0.1:{server.port}"
    code, head, page = server.get("/")
    page_code = 404 if b"without its page" in page else 200  # built without node and npm
    check(code == page_code and (code == 404 or b"<html" in page.lower()), f"the page: {code} {page[:80]}")
    for line in ("x-content-type-options: nosniff", "cache-control: no-store", "referrer-policy: no-referrer",
                 "frame-ancestors 'none'", "default-src 'none'"):
        check(line in head, f"the header has {line}")
    policy = re.search(r"content-security-policy: ([^\r]*)", raw_head(server))[1]
    scripts = re.findall(rb"<script[^>]*>(.*?)</script>", page, re.S)
    check(scripts or page_code == 404, "the page has a script")
    hashes = ["'sha256-" + base64.b64encode(hashlib.sha256(x).digest()).decode() + "'" for x in scripts]
    allowed = re.search(r"script-src([^;]*)", policy)[1].split()
    check(allowed == hashes + ["'wasm-unsafe-eval'"], f"the page's own scripts may run, and no others: {policy}")
    check(server.get("/", host=f"localhost:{server.port}")[0] == page_code, "localhost is its own address too")
    check(server.get("/playground")[0] in (200, 404), "the playground")
    for host in ("evil.example", "evil.example:%d" % server.port, "127.0.0.1", "127.0.0.1:1", "0.0.0.0:%d" % server.port,
                 own + ".evil.example", "a" * 300):
        check(server.get("/", host=host)[0] == 403, f"another host is turned away: {host[:40]}")
        check(Client(server.port, host=host).status == 403, f"on the socket too: {host[:40]}")
    check(server.raw(b"GET / HTTP/1.1\r\n\r\n").split(b" ")[1:2] == [b"403"], "no host")
    for origin in ("http://evil.example", "null", "https://" + own, "http://" + own + ".evil.example", "http://127.0.0.1",
                   "http://localhost:%d" % server.port, "file://", "x" * 300):
        check(Client(server.port, origin=origin).status == 403, f"another origin is turned away: {origin[:40]}")
        check(server.get("/", origin=origin)[0] == 403, f"for the page too: {origin[:40]}")
    check(Client(server.port, origin=None).status == 403, "no origin is no page")
    check(Client(server.port, protocol=None).status in (400, 0), "no protocol")
    check(Client(server.port, protocol="chat").status in (400, 0), "another protocol")
    check(Client(server.port, path="/").status in (404, 0), "no socket at /")
    check(Client(server.port, path="/socket/x").status in (404, 0), "no socket below /socket")
    secret = b"root:"
    for path in ("/..", "/../etc/passwd", "/../../../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd",
                 "/%252e%252e/etc/passwd", "/..%c0%afetc/passwd", "/..\\..\\etc\\passwd", "//etc/passwd", "/./etc/passwd",
                 "/etc/passwd", "/....//....//etc/passwd", "/page.c", "/socket/../../etc/passwd", "/%00", "/%2fetc%2fpasswd",
                 "/index.html", "/favicon.ico", "/" + "a" * 3000, "/" + "../" * 500 + "etc/passwd", "/?file=/etc/passwd",
                 "/playground/../../etc/passwd", "http://127.0.0.1/etc/passwd", "file:///etc/passwd", "/.%2e/etc/passwd"):
        code, head, body = server.get(path)
        check(secret not in body and (code in (0, 400, 403, 404, 414, 426) or body == page),
              f"nothing but the page: {path[:40]} gives {code} {body[:40]}")
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PATCH", "NONSENSE"):
        code, head, body = server.get("/", method=method, wait=1)  # CONNECT gets no answer
        check(code in (0, 400, 403, 404, 405, 501) and body != page, f"{method} is not answered: {code}")
    # as many pages as there may be, and one more
    clients = [server.client() for _ in range(8)]
    check(Client(server.port, server.path).status == 503, "the ninth page waits")
    for c in clients:
        c.close()
    time.sleep(0.3 * slack)
    c = server.client()
    c.close()
    half.settimeout(30 * slack)
    try:
        gone = half.recv(1000) is not None
    except OSError:
        gone = False
    check(gone and time.monotonic() - half_since < 25 * slack, "half a request is given up")
    half.close()
    server.end()

    # a token
    server = Server("drop.yaml", "--paused", "--listen", "127.0.0.1")
    token = server.token
    check(token and len(token) == 32, f"a token is drawn: {token}")
    check(server.get("/")[0] == 403 and server.get("/?token=")[0] == 403, "no token, no page")
    for wrong in (token[:-1], token + "0", "0" * 32, token.upper() if token.upper() != token else "x", token[::-1], "a" * 280):
        check(server.get("/?token=" + wrong)[0] == 403, "a wrong token")
        check(Client(server.port, path="/socket?token=" + wrong).status == 403, "a wrong token on the socket")
    check(Client(server.port).status == 403, "no token, no socket")
    check(server.get("/?token=" + token)[0] == page_code, "the right token")
    server.client("/socket?token=" + token).close()
    server.end()
    other = Server("drop.yaml", "--listen", "127.0.0.1")
    check(other.token != token, "tokens differ")
    other.end()
    write("token", "a-token_of-my-own1\nmore\n")
    server = Server("drop.yaml", "--token-file", "token")
    check(server.token == "a-token_of-my-own1" and server.get("/")[0] == 403, "a token from a file")
    check(server.get("/?token=a-token_of-my-own1")[0] == page_code, "lets in")
    server.end()
    write("kept.soalog", "somebody's work")
    for words in (("drop.yaml", "--listen", "localhost"), ("drop.yaml", "--port", "0"), ("drop.yaml", "--port", "1.5"),
                  ("nothing-of-that-name",), (".",), ("drop.yaml", "--speed", "-1"), ("replay.soalog", "--until", "3"),
                  ("drop.yaml", "--token-file", "drop.yaml"), ("drop.yaml", "--listen", "192.0.2.77"),
                  ("drop.yaml", "--record", "no/such/folder/x.soalog"), ("drop.yaml", "--record", "kept.soalog")):
        done = subprocess.run([program, "view", *words], cwd=folder, capture_output=True, text=True, timeout=30 * slack)
        check(done.returncode == 2 and done.stderr.startswith("soa view: ") and "Sanitizer" not in done.stderr, f"refused: {words}: {done.returncode} {done.stderr}")
    check("kept.soalog exists; remove it or name another" in done.stderr, f"a record that exists: {done.stderr}")
    check(read("kept.soalog") == b"somebody's work", "is left as it is")


# --- hostile, slow and lost clients ---------------------------------------------------------------------------------------
busy = """name: busy
duration: 100000
gravity: [0, 0, 0]
parts:
  - {name: ship, model: satellite}
recording: {rate: 1000}
"""


def mutated(dice):
    """A message, spoilt."""
    good = dice.choice([
        {"do": "frame", "id": 7, "t": 1.5}, {"do": "overview", "id": 8, "signals": [0, 3], "t0": 0, "t1": 40, "columns": 800},
        {"do": "samples", "id": 9, "signals": [0, 3], "t0": 0, "t1": 0.01}, {"do": "step", "count": 1},
        {"do": "speed", "value": 0}, {"do": "joint", "q": 7, "value": 0.1}, {"do": "joint", "q": 7}, {"do": "play"},
        {"do": "pull", "body": 2, "at": [0, 0, 0], "to": [1, 0, 0]}, {"do": "release"}])
    odd = [None, True, -1, 0, 1e308, -1e308, 1e15, 2**31, 2**32, 2**63, "x", [], {}, [1, 2], [1e308] * 3, "\u0000", "é", 0.5,
           [0] * 64, [0] * 65, [-1], [10**9]]
    for _ in range(dice.randrange(0, 3)):
        key = dice.choice(list(good) + ["do", "id", "q", "to", "new"])
        if dice.random() < 0.2:
            good.pop(key, None)
        else:
            good[key] = dice.choice(odd)
    text = json.dumps(good).replace("1e+308", dice.choice(["1e308", "1e999", "-1e999", "NaN", "Infinity"])).encode()
    for _ in range(dice.randrange(0, 3)):
        i = dice.randrange(0, len(text) + 1)
        text = dice.choice([text[:i], text[:i] + bytes([dice.randrange(256)]) + text[i + 1:], text + text[i:], text[i:],
                            text[:i] + dice.choice([b"[" * 500, b"{" * 100, b'"', b"\\u0000", b"\xff\xfe", b"9" * 400])])
    return text


def broken_frame(dice):
    """Bytes that are no WebSocket frame, or one that must not be."""
    n = dice.randrange(0, 60)
    body = bytes(dice.randrange(256) for _ in range(n))
    key = bytes(4)
    return dice.choice([
        body, bytes([0x81, n]) + body, bytes([0xf1, 0x80 | n]) + key + body, bytes([0x83, 0x80 | n]) + key + body,
        bytes([0x80, 0x80 | n]) + key + body, bytes([0x81, 0xff]) + struct.pack(">Q", 2**63 + n) + key + body,
        bytes([0x81, 0xff]) + struct.pack(">Q", 2**40) + key + body, bytes([0x89, 0xfe]) + struct.pack(">H", 200) + key + body,
        bytes([0x09, 0x80 | n]) + key + body, bytes([0x88, 0x81]) + key + b"x", bytes([0x88, 0x82]) + key + b"\x00\x01",
        bytes([0x81, 0xfe]) + struct.pack(">H", 65535) + key + body * 200, bytes([0x02, 0x80 | n]) + key + body,
        (bytes([0x01, 0x80]) + key) + (bytes([0x00, 0x80]) + key) * 2000, bytes([0x81, 0x80 | n]) + key + b"\xc3\x28" + body,
        bytes([0x01, 0x81]) + key + b"{" + (bytes([0x00, 0x81]) + key + b" ") * 5000, bytes([0x89, 0x80]) * 3000])


def fuzz():
    write("busy.yaml", busy)
    server = Server("busy.yaml", "--speed", "0")
    watcher = server.client()
    watcher.wait_state(lambda s: s["ticks"] > 100, "the run goes")
    dice = random.Random(seed)
    started, sent, sockets, closed = watcher.state["ticks"], 0, 0, 0
    c = None
    begun = time.monotonic()
    while sent < fuzzed and time.monotonic() - begun < 60 * slack:
        try:
            if c is None:
                c = Client(server.port, server.path)
                c.socket.settimeout(5 * slack)
                sockets += 1
            kind = dice.random()
            if kind < 0.7:
                c.put(1, mutated(dice))
            elif kind < 0.8:
                c.put(2, bytes(dice.randrange(256) for _ in range(dice.randrange(200))))
            elif kind < 0.85:
                c.put(1, b" " * dice.choice([4095, 4096, 4097, 5000, 70000]))
            elif kind < 0.88:
                c.put(1, mutated(dice), mask=False)
            elif kind < 0.98:
                c.socket.sendall(broken_frame(dice))
            else:
                c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                c.close()  # without a word
                c = None
            sent += 1
            while c and select.select([c.socket], [], [], 0)[0]:
                if not c.socket.recv(1 << 16):
                    raise Gone()
        except (OSError, Gone):
            closed += 1
            c = None
        if sent % 500 == 0:
            watcher.drain()
    if c:
        c.close()
    watcher.drain()
    print(f"  fuzzed with seed {seed}: {sent} messages over {sockets} sockets, {closed} of them closed by the server; "
          f"{watcher.state['ticks'] - started} ticks meanwhile")
    check(sent >= fuzzed // 2, "the fuzzer got through")
    check(watcher.state["ticks"] > started + 100, "the run goes on meanwhile")
    check(not watcher.state["ended"], "and is not over")
    watcher.command(what="reset")
    watcher.wait_state(lambda s: s["t"] == 0, "afterwards it still answers")
    watcher.command(what="play")
    watcher.wait_state(lambda s: s["t"] > 0.1, "and runs")
    check(watcher.ask(what="frame", t=0.05), f"and shows: {watcher.error}")
    # a plain sequence of mistakes: each is told, then the door is shut
    c = server.client()
    said = 0
    try:
        for _ in range(20):
            c.put(1, b"nonsense")
            errors = c.errors
            c.until(lambda: c.errors > errors, "a complaint")
            said += 1
    except (Gone, OSError):
        pass
    check(4 <= said <= 10, f"mistakes are told a few times: {said}")
    c = server.client()
    try:
        for _ in range(5000):
            c.put(1, b'{"do": "release"}')
        time.sleep(0.3 * slack)
        c.drain()
        got = "nothing"
    except (Gone, OSError):
        got = "closed"
    check(got == "closed" or (c.error and "many" in c.error), f"too many messages: {got} {c.error}")
    watcher.close()
    server.end()


def at_once():
    """A run that has begun can be looked at before any of it is in the record."""
    write("busy.yaml", busy)
    server = Server("busy.yaml", "--speed", "0", "--paused")
    c = server.client()
    for _ in range(20):
        c.command(what="reset")
        c.wait_state(lambda s: s["t"] == 0 and not s["playing"], "the beginning")
        c.frame = None
        c.say(what="play")
        c.until(lambda: c.frame and Frame(c.frame).t > 0, "a frame")
        if not check(c.ask(what="frame", t=1e-4), f"what was a moment ago: {c.error}"):
            break
    c.close()
    server.end()


def slow():
    """Clients that never read, and clients that vanish, against the speed of the run."""
    write("busy.yaml", busy)
    server = Server("busy.yaml", "--speed", "0")
    watcher = server.client()
    watcher.wait_state(lambda s: s["ticks"] > 100, "the run goes")

    def speed(seconds):
        watcher.drain()
        a, t = watcher.state["ticks"], time.monotonic()
        watcher.wait_state(lambda s: time.monotonic() - t > seconds, "time passes")
        count = watcher.states
        watcher.until(lambda: watcher.states > count, "a state")
        return (watcher.state["ticks"] - a) / (time.monotonic() - t)

    alone = stuck = 0
    enough = 0.1 if sanitized else 0.5  # the answers that were begun cost processor time, with sanitizers a lot of it
    for turn in range(10):  # other work on this machine makes both slower: the best of three turns, or of ten
        if turn >= 3 and stuck > enough * alone:
            break
        alone = max(alone, speed(0.6))
        sleepers = [Client(server.port, buffer=4096) for _ in range(5)]
        for s in sleepers:
            for k in range(20):  # long answers that nobody takes
                s.say(what="overview", id=k + 1, signals=list(range(60)), t0=0, t1=100, columns=2000)
        time.sleep(0.3)
        stuck = max(stuck, speed(0.6))
        for i, s in enumerate(sleepers):
            if i % 2:  # gone in the middle of a frame
                s.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.socket.sendall(b"\x81\xfe\x01\x00abcd{\"do\"")
            s.close()
        time.sleep(0.2)
    print(f"  {alone:.0f} ticks a second with one reader, {stuck:.0f} with five more that never read: {stuck / alone:.2f}")
    check(stuck > enough * alone, "who reads slowly does not slow the run")
    with open(f"/proc/{server.process.pid}/status") as file:
        memory = int(re.search(r"VmRSS:\s*(\d+)", file.read())[1]) / 1024
    print(f"  {memory:.0f} MB in memory afterwards")
    check(memory < (2000 if sanitized else 300), "nor fills the memory")
    watcher.close()
    time.sleep(0.3)
    again = server.client()
    before = again.state["ticks"]
    again.wait_state(lambda s: s["ticks"] > before, "the run goes on when a page comes back")
    again.close()
    server.end()


def nobody():
    """Without a page the run waits; it goes on from there when one comes back."""
    write("busy.yaml", busy)
    for words in ((), ("--record", "nobody.soalog")):
        server = Server("busy.yaml", "--speed", "0", *words)
        c = server.client()
        c.wait_state(lambda s: s["ticks"] > 1000, "the run goes")
        c.close()
        time.sleep(0.5 * slack)
        c = server.client()
        first = c.state["ticks"]
        c.close()
        time.sleep(1.5 * slack)
        c = server.client()
        second = c.state["ticks"]
        c.wait_state(lambda s: s["ticks"] > second + 1000, "it goes on")
        rate = speed_of(c)
        # what was done between the two looks is what the visits themselves allow, not 1.5 s of work
        check(second - first < 0.5 * rate * 1.5 * slack, f"nobody looked, it waited: {second - first} ticks at {rate:.0f} a second")
        c.close()
        server.end()


def speed_of(client):
    client.drain(0.05)
    a, t = client.state["ticks"], time.monotonic()
    client.wait_state(lambda s: time.monotonic() - t > 0.5, "time passes")
    count = client.states
    client.until(lambda: client.states > count, "a state")
    return (client.state["ticks"] - a) / (time.monotonic() - t)


def history():
    """The record without a name has a bound: there the run pauses and says so; a reset begins anew."""
    write("busy.yaml", busy)
    server = Server("busy.yaml", "--speed", "0", "--history", "2")
    c = server.client()
    for turn in range(2):
        c.error = None
        c.wait_state(lambda s: s["ticks"] > 100 and not s["playing"], "the bound", 60)
        c.until(lambda: c.error, "why")
        check("reached 2 MB" in c.error and "reset" in c.error, f"it says so: {c.error}")
        sizes = [os.stat(f"/proc/{server.process.pid}/fd/{n}").st_size for n in os.listdir(f"/proc/{server.process.pid}/fd")
                 if "run.soalog" in os.readlink(f"/proc/{server.process.pid}/fd/{n}")]
        check(sizes and max(sizes) < 2.2e6, f"the file is no larger: {sizes}")
        at = c.state["ticks"]
        for wish in ({"what": "play"}, {"what": "step", "count": 5}):
            c.error = None
            c.command(**wish)
            c.until(lambda: c.error, "and again")
        c.say(what="pull", body=1, at=[0, 0, 0], to=[1, 0, 0])
        c.drain(0.5)
        check(c.state["ticks"] == at and not c.state["playing"], f"it stays there: {at} {c.state}")
        check(c.ask(what="frame", t=c.state["t"] / 2), f"and can be looked at: {c.error}")
        c.command(what="reset")
        c.wait_state(lambda s: s["t"] == 0, "a reset")
        c.command(what="play")
    c.close()
    server.end()


def watchers():
    """Who has no token may look, and change nothing; pages with it go before."""
    write("busy.yaml", busy)
    server = Server("busy.yaml", "--speed", "1")
    check(len(server.token) == 32, f"a token on loopback too: {server.token}")
    watcher = server.client("/socket")
    check(watcher.state["commands"] is False, f"a watcher is told so: {watcher.state}")
    for wish in ({"what": "play"}, {"what": "pause"}, {"what": "reset"}, {"what": "step", "count": 3},
                 {"what": "speed", "value": 3}, {"what": "joint", "q": 7, "value": 1},
                 {"what": "pull", "body": 1, "at": [0, 0, 0], "to": [1, 0, 0]}, {"what": "release"}):
        watcher.error = None
        watcher.say(**wish)
        watcher.until(lambda: watcher.error, f"a refusal of {wish}")
        check("may only watch" in (watcher.error or ""), f"{wish}: {watcher.error}")
    check(watcher.state["ticks"] == 0 and not watcher.state["playing"], f"nothing has happened: {watcher.state}")
    check(watcher.ask(what="frame", t=0), f"it may look: {watcher.error}")
    check(Client(server.port, "/socket?token=" + "0" * 32).status == 403, "a wrong token is refused")
    c = server.client()
    check(c.state["commands"] is True, "the page may command")
    c.wait_state(lambda s: s["ticks"] > 10, "the run begins with the first page that may command")
    watcher.error = None
    watcher.say(what="reset")
    watcher.until(lambda: watcher.error, "a refusal")
    c.drain()
    check(c.state["ticks"] > 10 and c.state["t"] > 0 and c.state["playing"], "and goes on")
    more = [server.client("/socket") for _ in range(6)]
    check(Client(server.port).status == 503, "the ninth may not even watch")
    d = server.client()
    check(d.state["commands"] is True, "but a page with the token gets in")
    try:
        watcher.until(lambda: False, "the oldest watcher goes", 5)
    except (Gone, OSError):
        check(True, "the oldest watcher is gone")
    for x in more + [c, d]:
        x.close()
    server.end()


def crowd():
    """A thousand connections that say nothing, half of something, or too little, do not keep a page out."""
    write("busy.yaml", busy)
    server = Server("busy.yaml", "--paused")
    expected = server.get("/?token=" + server.token)[2]
    for name, said in (("say nothing", b""), ("stop in the middle", b"GET / HTTP/1.1\r\nHost: 127.0"),
                       ("ask and do not read", b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port)):
        idle = []
        for _ in range(1000):
            s = socket.socket()
            s.settimeout(10 * slack)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            try:
                s.connect(("127.0.0.1", server.port))
                if said:
                    s.sendall(said)
            except OSError:
                pass  # sent away already
            idle.append(s)
        begun = time.monotonic()
        code, _, body = server.get("/?token=" + server.token, wait=20)
        took = time.monotonic() - begun
        check(code and body == expected and took < 5 * slack, f"a page among 1000 that {name}: {code} after {took:.2f} s")
        begun = time.monotonic()
        c = server.client()
        print(f"  1000 connections that {name}: the page came after {took:.2f} s, its socket after {time.monotonic() - begun:.2f} s")
        c.close()
        for s in idle:
            s.close()
    drip = socket.create_connection(("127.0.0.1", server.port))  # byte by byte for ever
    drip.settimeout(1)
    begun, gone = time.monotonic(), False
    while not gone and time.monotonic() - begun < 30 * slack:
        try:
            drip.sendall(b"G" if time.monotonic() - begun < 0.5 else b"x")
            gone = drip.recv(100) == b""
        except TimeoutError:
            pass
        except OSError:
            gone = True
    check(gone, f"a request that comes byte by byte is given up: {time.monotonic() - begun:.1f} s")
    drip.close()
    server.end()


def port_80():
    """Clients leave the port 80 out of Host and Origin."""
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        probe.bind(("127.0.0.1", 80))
    except OSError as error:
        print(f"  port 80 cannot be had here ({error}): not tested; tests/view/test_view_host.c tests the comparison alone")
        probe.close()
        return
    probe.close()
    write("drop.yaml", drop)
    server = Server("drop.yaml", "--paused", "--port", "80")
    for host in ("127.0.0.1", "127.0.0.1:80", "localhost", "LOCALHOST:80"):
        check(server.get("/?token=" + server.token, host=host)[0] in (200, 404), f"the page by {host}")
        c = Client(80, server.path, host=host)
        check(c.status == 101, f"the socket by {host}: {c.status}")
        c.close()
    c = Client(80, server.path, host="127.0.0.1:80", origin="http://127.0.0.1")
    check(c.status == 101, f"the port in one of the two: {c.status}")
    c.close()
    for host in ("127.0.0.1:81", "127.0.0.1:8080", "127.0.0.1:", ":80", "evil.example:80", "evil.example", "127.0.0.1:80:80"):
        check(server.get("/?token=" + server.token, host=host)[0] in (0, 400, 403), f"turned away: {host}")
    server.end()


def main():
    begun = time.monotonic()
    for part in (live, to_the_end, pulls, a_run_that_fails, machines, replays, summaries, damage, mistakes, strangers, at_once, fuzz, slow,
                 nobody, history, watchers, crowd, port_80):
        chosen = os.environ.get("SOA_VIEW_PARTS")
        if chosen and part.__name__ not in chosen.split(","):
            continue
        try:
            part()
        except (Gone, OSError, struct.error) as error:
            check(False, f"{part.__name__}: {type(error).__name__} {error}")
        finally:
            for process in servers:
                if process.poll() is None:
                    process.kill()
        print(f"{part.__name__}: {tests} checks so far, {failures} failed, {time.monotonic() - begun:.1f} s", flush=True)
    left = os.listdir(os.environ["TMPDIR"])
    check(not left, f"nothing is left behind: {left}")
    shutil.rmtree(folder)
    print(f"{tests} checks, {failures} failed")
    return 1 if failures or not tests else 0


if __name__ == "__main__":
    if "without libwebsockets" in subprocess.run([program, "view", "no-such-thing"], capture_output=True, text=True).stderr:
        print("SKIPPED: this program was built without libwebsockets")
        sys.exit(77)
    sys.exit(main())
