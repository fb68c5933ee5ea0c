"""gRPC's own stubs: they can say what no official client would."""
import time

import grpc
from rocketmq.grpc_protocol import definition_pb2 as definition
from rocketmq.grpc_protocol import service_pb2 as messages
from rocketmq.grpc_protocol import service_pb2_grpc as service

OK, MULTIPLE_RESULTS, NOTHING, TOO_LATE, INVALID_HANDLE = 20000, 30000, 40401, 40012, 40013


def who(client="scenario", language="PYTHON"):
    return [("x-mq-client-id", client), ("x-mq-language", language), ("x-mq-protocol", "v2")]


def named(name):
    return definition.Resource(name=name)


def receive_request(topic, group, batch=1, invisible=60, wait=10, auto_renew=False, tags="*"):
    """`invisible` and `wait` in seconds; None leaves the field out."""
    request = messages.ReceiveMessageRequest(
        group=named(group), batch_size=batch, auto_renew=auto_renew,
        message_queue=definition.MessageQueue(topic=named(topic), id=-1),
        filter_expression=definition.FilterExpression(type=definition.TAG, expression=tags))
    if invisible is not None:
        request.invisible_duration.FromMilliseconds(int(invisible * 1000))
    if wait is not None:
        request.long_polling_timeout.FromMilliseconds(int(wait * 1000))
    return request


class Calls:
    """Calls one after the other, by one client."""

    def __init__(self, address, client="scenario"):
        self.channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub, self.who = service.MessagingServiceStub(self.channel), who(client)

    def receive(self, request, timeout=30):
        """The status's code, the messages, and when the first of them came (ms)."""
        code, found, at = None, [], None
        for answer in self.stub.ReceiveMessage(request, metadata=self.who, timeout=timeout):
            if answer.HasField("message"):
                at = at or int(time.time() * 1000)
                found.append(answer.message)
            elif answer.HasField("status"):
                code = answer.status.code
        return code, found, at

    def ack(self, topic, group, message):
        system = message.system_properties
        entry = messages.AckMessageEntry(message_id=system.message_id, receipt_handle=system.receipt_handle)
        request = messages.AckMessageRequest(group=named(group), topic=named(topic), entries=[entry])
        return self.stub.AckMessage(request, metadata=self.who, timeout=10).status.code

    def close(self):
        self.channel.close()
