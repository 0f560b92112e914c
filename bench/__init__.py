"""Benchmarks of the proxy. `python -m bench` measures the proxy's overhead on this machine.

__main__.py   the command-line options, and the parts of a run in order
requests.py   requests/s, latency and CPU: direct, bare pass-through, and four chatbots of a real `caf serve`
streams.py    throughput and pace of 64 concurrent streams
judges.py     CPU of the local judges alone (separate process)
path.py       latency of a turn with model judges, compared with its slowest path
start.py      start-up time, memory, and imported modules
figures.py    figures of a run, their targets, and tables
script.py     generates the conversations from the knowledge base
load.py       the load generator: a closed loop over keep-alive connections
upstream.py   the mock upstream, which answers in 0 ms (separate process)
bare.py       the reference: a minimal aiohttp pass-through (separate process)
setting.py    the data and the servers of a run: configuration, conversations, server processes
processes.py  starts servers, pins them to cores, and reads their CPU and memory

Separate benchmarks:

modes.py       latency of the first content in each streaming mode
attacks/       CPU cost of attacks, and latency of other clients during an attack
crowd.py       many concurrent conversations, checked for cross-talk
guests.py      one conversation of the crowd
proportion.py  verdicts of the shared calls on labelled replies, by label
evidence.py    recall of the sections that judges see
local_claims.py  accuracy of the local claims judge, compared with a plain rule
console.py     effect of an open console on throughput
console_lists.py  latency of the console's lists with 100,000 turns
rater.py       agreement of the local rater with labelled replies
"""
