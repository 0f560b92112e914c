"""Serves the web application on an address, for `caf serve` and for commands and experiments that start a proxy.

In reading order:

    listening.py        serves an application for the duration of a `with` block
    front.py            the server of `caf serve`, whose application can be replaced
    connections.py      limits on the number and the duration of connections
    reload.py           reloads the configuration on SIGHUP
    workers.py          several processes that share the port
    unsafe_settings.py  warnings about settings that weaken protection
"""
