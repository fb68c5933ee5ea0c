"""A push consumer of the Python gRPC client that puts all it gets into an inbox."""
from rocketmq import ConsumeResult, FilterExpression, MessageListener, PushConsumer


class Listener(MessageListener):
    def __init__(self, inbox):
        self.inbox = inbox

    def consume(self, message):
        self.inbox.put(message)
        return ConsumeResult.SUCCESS


def consume_into(inbox, config, topic, threads=20):
    """Gives the consumer, of the group of the topic's name, which has begun."""
    consumer = PushConsumer(config, topic, Listener(inbox), {topic: FilterExpression()}, consumption_thread_count=threads)
    consumer.startup()
    return consumer
