#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy `fair` as a program of its own, for jobs that may run anywhere and ask for nothing:
colocsim plan --policy='exec:python3 equal_split.py' ...  (doc/policies.md)"""
import json
import sys


def cpus(text):
    parts = [part.split("-") for part in text.split(",") if part]
    return {cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)}


def deal(row, jobs):  # cores: first to whom they have already, then the lowest free ones
    free = list(row)
    for keep in (True, False):
        for core in list(free):
            who = [j for j in jobs if j["want"] and (core & j["now"] or not keep)]
            if who:
                who[0]["want"] -= 1
                who[0]["gets"] |= core
                free.remove(core)


def settle(jobs, domains, room, need):  # a domain for each: where it runs, else the first with room
    for stay in (True, False):
        for j in jobs:
            for d, row in enumerate(domains):
                at_home = j["now"] and j["now"] <= set().union(*row)
                if j["home"] is None and room[d] >= j[need] and (at_home or not stay):
                    j["home"] = d
                    room[d] -= j[need]
    return all(j["home"] is not None for j in jobs)


def split(jobs, domains):  # `jobs` in order of arrival
    n, row = len(jobs), [core for domain in domains for core in domain]
    for k, j in enumerate(jobs):
        j["want"] = max(1, len(row) // n + (k < len(row) % n))
    if len(domains) % n == 0:  # a block of domains each
        for b in range(0, len(row), len(row) // n):
            block = row[b : b + len(row) // n]
            who = [j for j in jobs if not j["gets"]]
            max(who, key=lambda j: sum(1 for c in block if c & j["now"]))["gets"] |= set().union(*block)
    elif n > len(row):  # the jobs of a domain share it
        settle(jobs, domains, [n // len(domains) + (d < n % len(domains)) for d in range(len(domains))], "one")
        for j in jobs:
            j["gets"] = set().union(*domains[j["home"]])
    elif settle(jobs, domains, [len(d) for d in domains], "want"):
        for d, domain in enumerate(domains):
            deal(domain, [j for j in jobs if j["home"] == d])
    else:  # shares that fit no domain
        deal(row, jobs)


cores = json.loads(sys.stdin.readline())["cores"]  # the first line is about the machine
domains = [[cpus(c["pus"]) for c in cores if c["domain"] == d] for d in sorted({c["domain"] for c in cores})]
for line in sys.stdin:  # a view; its answer is a plan
    jobs = sorted(json.loads(line)["jobs"], key=lambda j: (j["order"], j["id"]))
    for j in jobs:
        j.update(now=cpus(j.get("current", {}).get("coreset", "")), gets=set(), home=None, one=1)
    if jobs:
        split(jobs, domains)
    plan = [{"id": j["id"], "coreset": ",".join(map(str, sorted(j["gets"])))} for j in jobs]
    print(json.dumps({"jobs": plan}), flush=True)
