"""Has redis-py do every command, and asserts what it returns: python commands.py PORT PROTOCOL

Prints the name of every command that went over the socket, one a line, for the test that looks for commands left out.
It passes on Redis 7.0 too, but for what came with 7.2.
"""

import sys
import threading
import time

import redis
from redis.connection import PythonRespSerializer

FAR_S = 4102444800
PORT, PROTOCOL = int(sys.argv[1]), int(sys.argv[2])
sent = set()


class Recorder(PythonRespSerializer):
    """Notes the names of the commands that are sent."""

    def __init__(self):
        super().__init__(6000, redis.connection.Encoder("utf-8", "strict", False).encode)

    def pack(self, *args):
        name = args[0] if isinstance(args[0], str) else args[0].decode()
        sent.add(name.split()[0].lower())
        return super().pack(*args)


def connect(**options):
    options = {"decode_responses": True, **options}
    pool = redis.ConnectionPool(
        host="127.0.0.1", port=PORT, protocol=PROTOCOL, socket_timeout=60, command_packer=Recorder(), **options
    )
    return redis.Redis(connection_pool=pool)


def equal(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


def fails(text, call, *args):
    try:
        found = call(*args)
    except (redis.ResponseError, redis.AuthenticationError) as error:
        assert text in str(error), f"expected {text!r}, found {error}"
    else:
        raise AssertionError(f"expected {text!r}, found {found!r}")


def strings(r):
    equal(r.set("a", "1"), True)
    equal(r.set("a", "2", nx=True), None)
    equal(r.set("a", "2", get=True), "1")
    # The methods incr and decr send INCRBY and DECRBY.
    equal([r.execute_command("INCR", "a"), r.incrby("a", 10), r.execute_command("DECR", "a"), r.decr("a", 4)], [3, 13, 12, 8])
    equal(float(r.incrbyfloat("a", 0.5)), 8.5)
    fails("not an integer", r.incr, "a")
    equal([r.setnx("a", "x"), r.setnx("b", "x")], [False, True])
    equal(r.execute_command("GETSET", "b", "y"), "x")
    equal([r.getdel("b"), r.get("b")], ["y", None])
    equal(r.setex("c", 100, "v"), True)
    equal(r.ttl("c") in (99, 100), True)
    equal(r.psetex("c", 100_000, "v"), True)
    equal(90_000 < r.pttl("c") <= 100_000, True)
    equal([r.getex("c", persist=True), r.ttl("c")], ["v", -1])
    equal([r.append("s", "hello "), r.append("s", "world")], [6, 11])
    equal([r.strlen("s"), r.getrange("s", 0, 4), r.substr("s", -5)], [11, "hello", "world"])
    equal(r.setrange("s", 6, "redis"), 11)
    equal(r.get("s"), "hello redis")
    equal(r.mset({"m1": "one", "m2": "two"}), True)
    equal(r.mget("m1", "nothing", "m2"), ["one", None, "two"])
    equal([bool(r.msetnx({"m2": "x", "m3": "y"})), bool(r.msetnx({"m3": "x", "m4": "y"}))], [False, True])
    r.mset({"l1": "ohmytext", "l2": "mynewtext"})
    equal([r.lcs("l1", "l2"), r.lcs("l1", "l2", len=True)], ["mytext", 6])
    binary = redis.Redis(port=PORT, protocol=PROTOCOL)
    everything = bytes(range(256))
    binary.set(everything, everything)
    equal(binary.get(everything), everything)
    binary.delete(everything)
    large = "x" * (5 << 20)
    r.set("large", large)
    equal(r.get("large") == large, True)


def hashes(r):
    equal(r.hset("h", mapping={"f": "v", "g": "1"}), 2)
    equal([r.hget("h", "f"), r.hget("h", "nothing")], ["v", None])
    equal(r.hmget("h", ["f", "nothing", "g"]), ["v", None, "1"])
    equal(bool(r.execute_command("HMSET", "h", "i", "5")), True)
    equal(r.hincrby("h", "i", 5), 10)
    equal(float(r.hincrbyfloat("h", "i", 0.25)), 10.25)
    fails("hash value is not an integer", r.hincrby, "h", "f", 1)
    equal([bool(r.hsetnx("h", "f", "x")), bool(r.hsetnx("h", "j", "x"))], [False, True])
    equal([r.hlen("h"), r.hexists("h", "f"), r.hexists("h", "k"), r.hstrlen("h", "i")], [4, True, False, 5])
    equal(r.hgetall("h"), {"f": "v", "g": "1", "i": "10.25", "j": "x"})
    equal([sorted(r.hkeys("h")), sorted(r.hvals("h"))], [["f", "g", "i", "j"], ["1", "10.25", "v", "x"]])
    equal(r.hrandfield("h") in ("f", "g", "i", "j"), True)
    equal(sorted(r.hrandfield("h", 9)), ["f", "g", "i", "j"])
    equal(r.hdel("h", "g", "i", "j", "nothing"), 3)
    fails("WRONGTYPE", r.get, "h")
    fails("WRONGTYPE", r.hget, "s", "f")
    many = {f"field:{index}": str(index) for index in range(5000)}
    equal(r.hset("many", mapping=many), 5000)
    equal(r.hgetall("many"), many)
    equal(dict(r.hscan_iter("many", count=100)), many)
    equal(dict(r.hscan_iter("many", match="field:42*")), {name: value for name, value in many.items() if name.startswith("field:42")})


def field_expiries(r):
    r.hset("e", mapping={"f": "1", "g": "2"})
    equal(r.hexpire("e", 100, "f", "nothing"), [1, -2])
    equal(r.hpexpire("e", 100_000, "f", nx=True), [0])
    equal([0 < ttl <= 100 for ttl in r.httl("e", "f")], [True])
    equal([90_000 < ttl <= 100_000 for ttl in r.hpttl("e", "f")], [True])
    equal([r.hexpireat("e", FAR_S, "g"), r.hexpiretime("e", "g")], [[1], [FAR_S]])
    equal([r.hpexpireat("e", FAR_S * 1000 + 1, "g"), r.hpexpiretime("e", "g")], [[1], [FAR_S * 1000 + 1]])
    equal([r.hpersist("e", "f", "g"), r.httl("e", "f")], [[1, 1], [-1]])
    equal([r.hpexpire("e", 0, "f"), r.hkeys("e")], [[2], ["g"]])


def sorting(r):
    r.rpush("numbers", 3, 1, 2)
    equal(r.sort("numbers"), ["1", "2", "3"])
    equal([r.sort("numbers", start=0, num=2, desc=True, store="sorted"), r.lrange("sorted", 0, -1)], [2, ["3", "2"]])
    # The method sort_ro sends SORT.
    equal(r.execute_command("SORT_RO", "numbers", "ALPHA"), ["1", "2", "3"])


def keys(r):
    equal([r.exists("a", "s", "nothing", "a"), r.touch("a", "nothing")], [3, 1])
    equal([r.type("s"), r.type("h"), r.type("nothing")], ["string", "hash", "none"])
    equal([r.expire("s", 100), r.expire("s", 50, gt=True), r.expire("nothing", 1)], [True, False, False])
    equal([r.expireat("s", FAR_S), r.expiretime("s")], [True, FAR_S])
    equal([r.pexpireat("s", FAR_S * 1000 + 1), r.pexpiretime("s")], [True, FAR_S * 1000 + 1])
    equal([r.pexpire("s", 100_000), r.persist("s"), r.persist("s")], [True, True, False])
    r.set("soon", "v", px=20)
    time.sleep(0.05)
    equal([r.get("soon"), r.exists("soon"), r.ttl("soon")], [None, 0, -2])
    payload = connect(decode_responses=False).dump("s")
    equal([r.restore("restored", 0, payload), r.get("restored") == r.get("s")], ["OK", True])
    fails("BUSYKEY", r.restore, "restored", 0, payload)
    equal([r.dump("nothing"), r.delete("restored")], [None, 1])
    equal([r.copy("s", "s2"), r.copy("s", "s2"), r.copy("s", "s2", replace=True)], [True, False, True])
    equal(r.rename("s2", "s3"), True)
    fails("no such key", r.rename, "nothing", "s3")
    equal([bool(r.renamenx("s3", "s")), bool(r.renamenx("s3", "s4"))], [False, True])
    equal(bool(r.move("s4", 2)), True)
    other = connect(db=2)
    equal([other.dbsize(), other.keys("s?"), other.randomkey()], [1, ["s4"], "s4"])
    equal(other.object("encoding", "s4") in ("raw", "embstr"), True)
    equal(r.swapdb(2, 3), True)
    equal([other.dbsize(), connect(db=3).unlink("s4", "nothing")], [0, 1])
    other.mset({f"key:{index}": "v" for index in range(3000)})
    equal(other.scan(0, count=10)[0] != 0, True)
    equal(sorted(other.scan_iter(count=50)), sorted(f"key:{index}" for index in range(3000)))
    equal(len(set(other.scan_iter(match="key:1*"))), 1111)
    equal(other.flushdb(), True)
    equal([other.dbsize(), r.delete("a", "nothing")], [0, 1])


def connections(r):
    equal([r.ping(), r.echo("hello"), r.execute_command("SELECT", 0)], [True, "hello", True])
    hello = r.execute_command("HELLO")
    if isinstance(hello, list):
        hello = dict(zip(hello[::2], hello[1::2]))
    equal([hello["server"], hello["proto"]], ["redis", PROTOCOL])
    fails("invalid username-password pair", r.execute_command, "AUTH", "nobody", "wrong")
    one = redis.Redis(connection_pool=redis.ConnectionPool(max_connections=1, **r.connection_pool.connection_kwargs))
    equal([one.client_setname("tester"), one.client_getname()], [True, "tester"])
    listed = [client for client in r.client_list() if client["name"] == "tester"]
    equal([int(client["id"]) for client in listed], [one.client_id()])
    equal(one.client_info()["name"], "tester")
    equal(r.client_kill_filter(_id=one.client_id()), 1)
    equal([client for client in r.client_list() if client["name"] == "tester"], [])
    equal(one.ping(), True)
    with r.client() as own:
        equal(own.execute_command("RESET"), "RESET")
    r.connection_pool.disconnect()
    # redis-py closes the connection when it reads the answer of QUIT, or on its next use.
    equal(bool(connect().execute_command("QUIT")), True)


def transactions(r):
    with r.pipeline(transaction=True) as pipe:
        equal(pipe.set("t", 1).incr("t").hset("th", "f", "v").execute(), [True, 2, 1])
    with r.pipeline(transaction=False) as pipe:
        for index in range(10_000):
            pipe.set(f"p:{index}", index)
        equal(pipe.execute(), [True] * 10_000)
        for index in range(10_000):
            pipe.get(f"p:{index}")
        equal(pipe.execute(), [str(index) for index in range(10_000)])
    with r.pipeline() as pipe:
        pipe.watch("t")
        r.set("t", "changed")
        pipe.multi()
        pipe.set("t", "lost")
        try:
            pipe.execute()
            raise AssertionError("the transaction saw no change")
        except redis.WatchError:
            equal(r.get("t"), "changed")
        pipe.watch("t")
        pipe.unwatch()
    r.set("t", 0)

    def increment(pipe):
        value = int(pipe.get("t"))
        pipe.multi()
        pipe.set("t", value + 1)

    def work():
        client = connect()
        for _ in range(25):
            client.transaction(increment, "t")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(r.get("t"), "100")
    with r.client() as own:
        equal(own.execute_command("MULTI"), "OK")
        equal(own.execute_command("APPEND", "t", "no"), "QUEUED")
        equal(own.execute_command("DISCARD"), "OK")
    equal(r.get("t"), "100")


def server(r):
    info = r.info()
    equal([info["redis_mode"], info["tcp_port"], info["db0"]["keys"] > 10_000], ["standalone", PORT, True])
    equal(info["redis_version"].startswith("7."), True)
    equal(r.config_get("maxmemory"), {"maxmemory": "0"})
    equal("databases" in r.config_get("*"), True)
    equal(r.config_resetstat(), True)
    fails("Unknown option", r.config_set, "nothing", "1")
    equal(r.command_count(), len([name for name in r.command_list() if "|" not in name]))
    equal("hincrbyfloat" in r.command(), True)
    equal(r.command_getkeys("MSET", "a", "1", "b", "2"), ["a", "b"])
    equal(r.memory_usage("large") > 1000, True)
    equal(r.memory_usage("nothing"), None)
    equal([r.object("refcount", "s"), r.object("idletime", "s") < 60], [1, True])
    fails("nothing", r.execute_command, "DEBUG", "nothing")
    seconds, microseconds = r.time()
    equal(abs(seconds + microseconds / 1e6 - time.time()) < 60, True)
    equal([r.slowlog_reset(), r.slowlog_len(), r.acl_whoami()], [True, 0, "default"])
    if "--of-7.2" in sys.argv:
        equal(r.client_setinfo("LIB-NAME", "tester"), True)
        equal(r.client_no_touch("on"), "OK")
    fails("unknown command", r.execute_command, "NOTHING")
    equal([r.flushall(), r.dbsize()], [True, 0])


r = connect()
r.flushall()
parts = [strings, hashes, sorting, keys, connections, transactions, server]
# Redis 7.0 has no expiries of fields.
if "--of-7.2" in sys.argv:
    parts.insert(2, field_expiries)
for part in parts:
    part(r)
if "--shutdown" in sys.argv:
    r.shutdown(nosave=True)
print("\n".join(sorted(sent)))
