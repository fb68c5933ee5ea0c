import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.*;

/** What the proxy's port does otherwise than the others; NAMESRV is that port, and no other is told of. */
public final class Proxy {
    static Harness h;

    public static void main(String[] args) throws Exception {
        h = new Harness("proxy-java");
        h.add("no-other-address-is-told", 60, Proxy::address);
        h.add("levels-and-moments-on-a-delay-topic", 60, Proxy::delays);
        h.add("other-types-refused", 60, Proxy::types);
        h.add("commit-is-honoured-at-once-without-a-check", 60, Proxy::transaction);
        h.add("poison-of-an-ordered-queue-is-a-dead-letter-and-the-rest-follow", 60, Proxy::poison);
        h.add("pop", 60, Proxy::pop);
        h.add("tls", 60, Proxy::tls);
        h.run();
    }

    /** A producer whose topic takes messages of that type. */
    static DefaultMQProducer producer(DefaultMQProducer p, String topic, int queues, String type) throws Exception {
        make(Rmq.start(p), topic, queues, type);
        return p;
    }

    /** The producer's own createTopic says nothing of attributes. */
    static void make(DefaultMQProducer p, String topic, int queues, String type) throws Exception {
        TopicConfig config = new TopicConfig(topic, queues, queues, 6);
        config.setAttributes(Map.of("+message.type", type));
        p.getDefaultMQProducerImpl().getmQClientFactory().getMQClientAPIImpl().createTopic(Harness.NAMESRV, "TBW102", config, 5000);
    }

    static String address() throws Exception {
        String topic = h.name("address");
        DefaultMQProducer p = producer(new DefaultMQProducer("p_" + topic), topic, 1, "NORMAL");
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = Rmq.consume(topic, topic, in);
        MessageQueue q = p.send(Rmq.msg(topic, "x")).getMessageQueue();
        in.await(1, 10, "the message");
        String broker = q.getBrokerName();
        for (var factory : List.of(p.getDefaultMQProducerImpl().getmQClientFactory(),
            c.getDefaultMQPushConsumerImpl().getmQClientFactory()))
            Harness.same(Harness.NAMESRV, factory.findBrokerAddressInPublish(broker), "address of " + broker);
        c.shutdown();
        p.shutdown();
        return broker + " is at " + Harness.NAMESRV;
    }

    static String delays() throws Exception {
        String topic = h.name("delays");
        DefaultMQProducer p = producer(new DefaultMQProducer("p_" + topic), topic, 4, "DELAY");
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = Rmq.consume(topic, topic, in);
        Map<String, Long> from = new HashMap<>(), to = new HashMap<>();
        for (int i = 0; i < 12; i++) {
            String body = Integer.toString(i);
            Message m = Rmq.msg(topic, body);
            long now = System.currentTimeMillis(), delay = i % 3 == 0 ? 1000 : 2000 + 137 * i;
            if (i % 3 == 0) m.setDelayTimeLevel(1);
            else if (i % 3 == 1) m.setDelayTimeMs(delay);
            else m.setDeliverTimeMs(now + delay);
            Harness.same(SendStatus.SEND_OK, p.send(m).getSendStatus(), "status of a send");
            from.put(body, now + delay);
            to.put(body, System.currentTimeMillis() + delay);
        }
        List<Long> late = new ArrayList<>();
        for (var g : in.await(12, 20, "messages"))
            late.add(Harness.late(from.get(Rmq.body(g.msg())), to.get(Rmq.body(g.msg())), g.at(), Rmq.body(g.msg())));
        c.shutdown();
        p.shutdown();
        return "late ms: " + late;
    }

    static String types() throws Exception {
        String normal = h.name("normal"), delay = h.name("delay");
        DefaultMQProducer p = producer(new DefaultMQProducer("p_" + normal), normal, 1, "NORMAL");
        make(p, delay, 1, "DELAY");
        p.setRetryTimesWhenSendFailed(0);
        Message level = Rmq.msg(normal, "x"), moment = Rmq.msg(normal, "x");
        level.setDelayTimeLevel(1);
        moment.setDelayTimeMs(1000);
        for (Message m : List.of(level, moment, Rmq.msg(delay, "x"))) {
            try {
                throw Harness.fail("taken: " + p.send(m) + " of " + m);
            } catch (MQBrokerException e) {
                Harness.same(13, e.getResponseCode(), "code of " + m);
            }
        }
        Harness.same(SendStatus.SEND_OK, p.send(Rmq.msg(normal, "x")).getSendStatus(), "status of a send");
        p.shutdown();
        return "a delay on NORMAL and none on DELAY: code 13";
    }

    static String transaction() throws Exception {
        String topic = h.name("transaction");
        AtomicInteger checks = new AtomicInteger();
        TransactionMQProducer p = new TransactionMQProducer("p_" + topic);
        p.setTransactionListener(new TransactionListener() {
            @Override public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return new String(m.getBody(), StandardCharsets.UTF_8).equals("no") ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override public LocalTransactionState checkLocalTransaction(MessageExt m) {
                checks.incrementAndGet();
                return LocalTransactionState.UNKNOW;
            }
        });
        producer(p, topic, 2, "TRANSACTION");
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = Rmq.consume(topic, topic, in);
        long sent = System.currentTimeMillis();
        for (String body : List.of("yes", "no")) p.sendMessageInTransaction(Rmq.msg(topic, body), null);
        var got = in.await(1, 10, "the committed message").get(0);
        Harness.same("yes", Rmq.body(got.msg()), "what came");
        Harness.check(got.at() - sent < 1000, "it came " + (got.at() - sent) + " ms after its send");
        Thread.sleep(12_000);
        Harness.same(1, in.size(), "messages");
        Harness.same(0, checks.get(), "checks");
        c.shutdown();
        p.shutdown();
        return "visible after " + (got.at() - sent) + " ms, no check in 12 s";
    }

    /** Three tries of a message that always suspends its queue, then five good ones in the order they were sent. */
    static String poison() throws Exception {
        String topic = h.name("poison");
        DefaultMQProducer p = producer(new DefaultMQProducer("p_" + topic), topic, 1, "NORMAL");
        List<String> in = Collections.synchronizedList(new ArrayList<>());
        DefaultMQPushConsumer c = Rmq.consumer(topic);
        c.setMaxReconsumeTimes(3);
        c.setSuspendCurrentQueueTimeMillis(200);
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerOrderly) (msgs, context) -> {
            for (MessageExt m : msgs) {
                in.add(Rmq.body(m));
                if (Rmq.body(m).equals("poison")) return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        Rmq.start(c, topic, 1);
        p.send(Rmq.msg(topic, "poison"));
        for (int i = 0; i < 5; i++) p.send(Rmq.msg(topic, "good " + i));
        Harness.until(30, "last good message", () -> in.contains("good 4"));
        List<String> good = in.stream().filter(body -> body.startsWith("good")).toList();
        Harness.same(List.of("good 0", "good 1", "good 2", "good 3", "good 4"), good, "good messages");
        long tries = in.stream().filter("poison"::equals).count();
        Harness.same(4L, tries, "tries of the poison: one and three more");
        Harness.check(in.lastIndexOf("poison") < in.indexOf("good 0"), "a good message overtook it: " + in);
        Harness.Inbox<MessageExt> letters = new Harness.Inbox<>();
        DefaultMQPushConsumer dead = Rmq.consume("%DLQ%" + topic, topic + "_dead", letters);
        Harness.same("poison", Rmq.body(letters.await(1, 10, "the dead letter").get(0).msg()), "the dead letter");
        c.shutdown();
        dead.shutdown();
        p.shutdown();
        return tries + " tries, a dead letter, 5 good ones in order";
    }

    static String pop() throws Exception {
        String topic = h.name("pop");
        DefaultMQProducer p = producer(new DefaultMQProducer("p_" + topic), topic, 4, "NORMAL");
        p.getDefaultMQProducerImpl().getmQClientFactory().getMQClientAPIImpl().setMessageRequestMode(Harness.NAMESRV, topic, topic,
            MessageRequestMode.POP, 0, 3000);
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = Pop.consumer(topic, topic, MessageSelector.byTag("*"), 5000, m -> {
            in.put(m);
            return true;
        });
        for (int i = 0; i < 20; i++) p.send(Rmq.msg(topic, Integer.toString(i)));
        in.await(20, 10, "messages");
        Thread.sleep(7000);
        Harness.same(20, in.size(), "messages (more: acks had no effect)");
        c.shutdown();
        p.shutdown();
        return "20 popped and acked";
    }

    static String tls() throws Exception {
        String topic = h.name("tls");
        DefaultMQProducer p = new DefaultMQProducer("p_" + topic);
        p.setUseTLS(true);
        producer(p, topic, 1, "DELAY");
        Message m = Rmq.msg(topic, "secret");
        m.setDelayTimeMs(500);
        Harness.same(SendStatus.SEND_OK, p.send(m).getSendStatus(), "status of a send");
        p.shutdown();
        return "on the same port";
    }
}
