"""What those who run the proxy see of it. No text of a conversation is in any of it.

metrics.py         what Prometheus is told; external_metric.py: numbers that somebody else keeps
worker_metrics.py  the same of several processes
tracing.py         whether OpenTelemetry is asked for; spans.py: its spans
logs.py            our log lines; library_logs.py: what libraries would print
"""
