"""Has redis-py log in, refused and let in: python password.py PORT PROTOCOL PASSWORD"""

import sys

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

PORT, PROTOCOL, PASSWORD = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def connect(**options):
    # A refusal is final: redis-py would try again for seconds.
    return redis.Redis(port=PORT, protocol=PROTOCOL, decode_responses=True, retry=Retry(NoBackoff(), 0), **options)


for options in ({}, {"password": "wrong"}, {"username": "nobody", "password": PASSWORD}):
    try:
        connect(**options).ping()
    except redis.AuthenticationError:
        continue
    raise AssertionError(f"let in with {options}")

for options in ({"password": PASSWORD}, {"username": "default", "password": PASSWORD}):
    r = connect(**options)
    assert r.ping() is True
    assert r.set("a", "1") is True
    assert r.get("a") == "1"
    assert r.auth(PASSWORD) is True
