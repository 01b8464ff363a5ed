"""The configuration: JSON files to one frozen, checked value that says where each part came from.

It is the only part that is handed the environment, and it never asks for it itself.
"""

from toolfabric.config.load import load_config
from toolfabric.config.records import Config, Loaded

__all__ = ["Config", "Loaded", "load_config"]
