"""The nodes, beside a bare relay, over DDS."""
