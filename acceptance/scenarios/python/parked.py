"""30 receivers of 30 groups wait, parked, for one message that becomes due, with no other traffic.

Light clients on purpose: bare sockets, and gRPC's own stubs. Thirty Java clients that wake at once on two cores measure
themselves; they are parked-pull-java and parked-pop-java.
"""
import asyncio
import time

import grpc
from rocketmq.grpc_protocol import definition_pb2 as definition
from rocketmq.grpc_protocol import service_pb2 as messages
from rocketmq.grpc_protocol import service_pb2_grpc as service

from harness import GRPC, RUN_ID, check, now, run, same
from histogram import histogram
from remoting import BROKER, FOUND, PULL, SEND, Connection, create_topic, frame, pull_ext, send_ext

GROUPS, ROUNDS, MEDIAN_MS = 30, 5, 20


async def rounds(topic, receive):
    """Lets all receivers wait, sends one message that is due soon, and notes how late each had it."""
    sender, late = Connection(BROKER), []
    same(0, create_topic(sender, topic, 1, "DELAY").code, "topic")
    for round in range(ROUNDS + 1):
        waiting = [asyncio.create_task(receive(i, round)) for i in range(GROUPS)]
        await asyncio.sleep(1)
        due = now() + 1500
        same(0, sender.call(SEND, send_ext(topic, {"TIMER_DELIVER_MS": due}), b"due").code, "send")
        at = await asyncio.wait_for(asyncio.gather(*waiting), 10)
        if round:  # the first warms the clients up
            late += [ms - due for ms in at]
    sender.close()
    late = [int(ms) if ms >= 0 else ms for ms in late]
    check(min(late) >= 0, f"one came {-min(late)} ms early")
    median = sorted(late)[len(late) // 2]
    check(median <= MEDIAN_MS, f"the median is {median} ms late, more than {MEDIAN_MS}: {histogram(late)}")
    return f"{ROUNDS} rounds of {GROUPS}; late ms: {histogram(late)}"


async def pull():
    topic = f"acc_scenarios_pull_{RUN_ID}"
    streams = [await asyncio.open_connection(*BROKER) for _ in range(GROUPS)]

    async def receive(i, round):
        reader, writer = streams[i]
        writer.write(frame(PULL, pull_ext(topic, f"{topic}_{i}", 0, round, 10_000)))
        length = int.from_bytes(await reader.readexactly(4), "big")
        answer = await reader.readexactly(length)
        at = time.time() * 1000
        check(f'"code":{FOUND},'.encode() in answer, f"answer {answer[4:200]!r}")
        return at

    return await rounds(topic, receive)


async def pop():
    topic = f"acc_scenarios_pop_{RUN_ID}"
    own = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(GRPC, options=own) for _ in range(GROUPS)]
    stubs = [service.MessagingServiceStub(channel) for channel in channels]

    async def receive(i, round):
        request = messages.ReceiveMessageRequest(
            group=definition.Resource(name=f"{topic}_{i}"), batch_size=1,
            message_queue=definition.MessageQueue(topic=definition.Resource(name=topic), id=-1))
        request.filter_expression.expression = "*"
        request.filter_expression.type = definition.TAG
        request.invisible_duration.seconds = 60
        request.long_polling_timeout.seconds = 10
        who = [("x-mq-client-id", f"c{i}"), ("x-mq-language", "PYTHON"), ("x-mq-protocol", "v2")]
        at = None
        async for answer in stubs[i].ReceiveMessage(request, metadata=who, timeout=15):
            if answer.HasField("message"):
                at = time.time() * 1000
        check(at, "the receive ended without a message")
        return at

    detail = await rounds(topic, receive)
    for channel in channels:
        await channel.close()
    return detail


run("parked", [("30-pulls-are-woken-by-a-due-message", 60, lambda: asyncio.run(pull())),
               ("30-pops-are-woken-by-a-due-message", 60, lambda: asyncio.run(pop()))])
