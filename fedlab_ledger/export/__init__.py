"""Handing out models: a folder each, with a card."""

from fedlab_ledger.export.models import export, load
