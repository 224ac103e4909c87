"""One of two participants that are new; run as a process, with a namespace and a name.

Exit code 0 where it met the other one, and then spoke on for `WITNESSING`, so that whoever is not deaf hears it.
"""

from __future__ import annotations

import sys
import time

import rclpy
from std_msgs.msg import String

WITNESSING = 20.0
"""So long after they met [s]."""
DEADLINE = 180.0
"""Longest time to meet [s]."""
TOPIC = "witness"


def main(namespace: str, name: str) -> int:
    """Meet the other one, and speak on."""
    rclpy.init()
    node = rclpy.create_node(name, namespace=namespace)
    publisher = node.create_publisher(String, TOPIC, 10)
    heard: set[str] = set()
    node.create_subscription(String, TOPIC, lambda message: heard.add(message.data), 10)
    begin = time.monotonic()
    met = 0.0
    while not met or time.monotonic() < met + WITNESSING:
        if not met and time.monotonic() > begin + DEADLINE:
            return 1
        publisher.publish(String(data=name))
        rclpy.spin_once(node, timeout_sec=0.1)
        if not met and heard - {name}:
            met = time.monotonic()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
