"""Serves the application on an address: for `caf serve`, and for commands and experiments that run their own proxy.

In reading order:

    listening.py        serves an application within a block
    front.py            serves while the application is replaced
    connections.py      limits on the number of connections and on their time
    reload.py           reloads the configuration on SIGHUP
    workers.py          several processes that share the port
    unsafe_settings.py  warnings about settings that weaken protection
"""
