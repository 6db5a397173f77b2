"""Every method of the core on Flower: clients that keep their own data.

`client_app` and `server_app` are what a Flower app names. `Here` plays both in one
process, message by message.
"""

from fedlab_flower.apps import Plan, client_app, parts_of, server_app
from fedlab_flower.flower import Here
