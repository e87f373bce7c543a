"""Celery on Redis, set so that a killed worker's job is back at work within seconds."""

from __future__ import annotations

from celery import Celery

from services.attacker.settings import FleetSettings

__all__ = ["QUEUES", "celery_app", "settings"]

QUEUES = ("probe", "fit", "train")

settings = FleetSettings()

celery_app = Celery("leakrange", broker=settings.redis_url, include=["services.attacker.tasks"])
celery_app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,  # results are files under the job's identity, news go to the report stream
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "visibility_timeout": settings.visibility_timeout,
        # kombu looks for timed-out deliveries every interval x throttle ticks: 100 s as shipped.
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
        "socket_keepalive": True,
    },
)
