"""Measures the proxy's own cost on this machine in one run: `python -m bench`.

__main__.py   the options, and the parts of a run in their order
requests.py   requests/s, latency and CPU: direct, bare pass-through, and four chatbots of a real `caf serve`
streams.py    64 concurrent streams
judges.py     CPU of the local judges alone (separate process)
path.py       latency of a turn with model judges, compared with its slowest path
start.py      start-up time, memory, and imported modules
figures.py    figures of a run, targets, tables
script.py     the conversations, generated from the knowledge base
load.py       the load: a closed loop over keep-alive connections
upstream.py   the mock upstream, which answers in 0 ms (separate process)
bare.py       the reference: a minimal aiohttp pass-through (separate process)
setting.py    the setting of a run: configuration, conversations, servers
processes.py  starts and pins servers, reads their CPU and memory

Separate benchmarks:

modes.py       latency of the first content in each streaming mode
attacks/       cost of attacks, and latency of other clients meanwhile
crowd.py       concurrent conversations, checked for cross-talk; guests.py: one conversation
proportion.py  verdicts of the shared calls on labelled replies, by label
evidence.py    sections that judges get
local_claims.py  the local judge of claims compared with a plain rule
console.py     effect of an open console on throughput; console_lists.py: latency of its lists with 100,000 turns
rater.py       agreement of the local rater with labelled replies
"""
