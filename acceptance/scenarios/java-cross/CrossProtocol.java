import java.time.Duration;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.apis.consumer.*;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.*;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.message.*;

/** What one protocol's client sends, the other's receives, and calls back: one engine behind both doors. */
public final class CrossProtocol {
    private static final Harness h = new Harness("cross-protocol");
    private static final String BODY = "body 中文", USER = "值 = 1";
    private static final long DAY_MS = 86_400_000;

    public static void main(String[] args) throws Exception {
        h.add("remoting-to-grpc", 60, CrossProtocol::toGrpc);
        h.add("grpc-to-remoting", 60, CrossProtocol::toRemoting);
        h.add("order-and-transaction-to-remoting", 60, CrossProtocol::orderAndTransaction);
        h.add("recall-by-the-other", 60, CrossProtocol::recall);
        h.add("one-maximum-delay", 60, CrossProtocol::limit);
        h.run();
    }

    private record Sent(String id, long earliest, long due) { }

    private static Message remotingMessage(String topic, String what) {
        Message m = Rmq.msg(topic, "tagR", "k1 k2", BODY + " " + what);
        m.putUserProperty("user", USER);
        return m;
    }

    private static MessageBuilder grpcMessage(String topic, String what) {
        return Grpc.msg(topic, BODY + " " + what).setTag("tagR").setKeys("k1", "k2").addProperty("user", USER);
    }

    private static String toGrpc() throws Exception {
        String topic = Grpc.topic(h.name("togrpc"), "MIXED", 2);
        DefaultMQProducer p = Rmq.producer(topic, 0);
        Harness.Inbox<MessageView> in = new Harness.Inbox<>();
        Map<String, Sent> sent = new LinkedHashMap<>();
        try (SimpleConsumer c = Grpc.simple(topic, topic)) {
            long base = System.currentTimeMillis();
            for (String how : List.of("now", "level", "sec", "ms", "at", "group")) {
                Message m = remotingMessage(topic, how);
                long before = System.currentTimeMillis(), delay = 0;
                switch (how) {
                    case "level" -> { m.setDelayTimeLevel(1); delay = 1000; }
                    case "sec" -> { m.setDelayTimeSec(2); delay = 2000; }
                    case "ms" -> { m.setDelayTimeMs(1500); delay = 1500; }
                    case "at" -> m.setDeliverTimeMs(base + 2345);
                    case "group" -> MessageAccessor.putProperty(m, MessageConst.PROPERTY_SHARDING_KEY, "g1");
                    default -> { }
                }
                SendResult r = p.send(m);
                Harness.same(SendStatus.SEND_OK, r.getSendStatus(), how);
                long after = System.currentTimeMillis();
                sent.put(BODY + " " + how, how.equals("at") ? new Sent(r.getMsgId(), base + 2345, base + 2345)
                    : new Sent(r.getMsgId(), before + delay, after + delay));
            }
            Grpc.receive(c, sent.size(), 15, true, in);
            StringBuilder late = new StringBuilder();
            for (var got : in.await(sent.size(), 0, "messages")) {
                MessageView m = got.msg();
                String body = Grpc.body(m), how = body.substring(BODY.length() + 1);
                Sent s = sent.remove(body);
                Harness.check(s != null, "came twice or was never sent: " + body);
                Harness.same(s.id, m.getMessageId().toString(), "id of " + how);
                Harness.same("tagR", m.getTag().orElse(null), "tag of " + how);
                Harness.same(Set.of("k1", "k2"), Set.copyOf(m.getKeys()), "keys of " + how);
                // The message group is shown there as well, as by RocketMQ's proxy.
                Map<String, String> users = new HashMap<>(Map.of("user", USER));
                if (how.equals("group")) users.put(MessageConst.PROPERTY_SHARDING_KEY, "g1");
                Harness.same(users, m.getProperties(), "properties of " + how);
                Harness.same(1, m.getDeliveryAttempt(), "attempt of " + how);
                Harness.same(how.equals("group") ? "g1" : null, m.getMessageGroup().orElse(null), "group of " + how);
                boolean delayed = !how.equals("now") && !how.equals("group");
                Harness.same(delayed, m.getDeliveryTimestamp().isPresent(), "a delivery time of " + how);
                if (delayed) {
                    long due = m.getDeliveryTimestamp().get();
                    Harness.check(due >= s.earliest && due <= s.due, "delivery time of " + how + ": " + due + " is not in " + s);
                    late.append(' ').append(how).append(' ').append(Harness.late(due, due, got.at(), how));
                }
            }
            return "id, tag, keys, property, group, delivery time; late ms:" + late;
        } finally {
            p.shutdown();
        }
    }

    private static String toRemoting() throws Exception {
        String topic = Grpc.topic(h.name("toremoting"), "MIXED", 2);
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = Rmq.consume(topic, topic, in);
        Map<String, Sent> sent = new HashMap<>();
        try (Producer p = Grpc.producer(topic)) {
            for (int i = 0; i < 4; i++) {
                long now = System.currentTimeMillis(), due = i == 0 ? 0 : now + 700 * i + 13;
                MessageBuilder m = grpcMessage(topic, "m" + i);
                if (due > 0) m.setDeliveryTimestamp(due);
                sent.put(BODY + " m" + i, new Sent(p.send(m.build()).getMessageId().toString(), now, due));
            }
            StringBuilder late = new StringBuilder();
            for (var got : in.await(4, 15, "messages")) {
                MessageExt m = got.msg();
                Sent s = sent.remove(Rmq.body(m));
                Harness.check(s != null, "came twice or was never sent: " + Rmq.body(m));
                Harness.same(s.id, m.getMsgId(), "id");
                Harness.same("tagR", m.getTags(), "tag");
                Harness.same("k1 k2", m.getKeys(), "keys");
                Harness.same(USER, m.getUserProperty("user"), "property");
                Harness.same(0, m.getReconsumeTimes(), "tries before");
                String deliver = m.getProperty(MessageConst.PROPERTY_TIMER_DELIVER_MS);
                Harness.same(s.due == 0 ? null : Long.toString(s.due), deliver, "delivery time");
                Harness.same(0, m.getDelayTimeLevel(), "level");
                if (s.due > 0) late.append(' ').append(Harness.late(s.due, s.due, got.at(), "a message"));
            }
            return "id, tag, keys, property, delivery time; late ms:" + late;
        } finally {
            c.shutdown();
        }
    }

    private static String orderAndTransaction() throws Exception {
        String fifo = Grpc.topic(h.name("fifo"), "FIFO", 4), tx = Grpc.topic(h.name("tx"), "TRANSACTION", 1);
        Harness.Inbox<MessageExt> ordered = new Harness.Inbox<>(), committed = new Harness.Inbox<>();
        DefaultMQPushConsumer c = Rmq.consume(fifo, fifo, ordered), d = Rmq.consume(tx, tx, committed);
        try (Producer p = Grpc.producer(fifo);
             Producer q = Grpc.SERVICE.newProducerBuilder().setClientConfiguration(Grpc.PLAIN).setTopics(tx)
                 .setTransactionChecker(m -> TransactionResolution.UNKNOWN).build()) {
            for (int i = 0; i < 30; i++) p.send(Grpc.msg(fifo, "" + i).setMessageGroup("g" + i % 3).build());
            for (String end : List.of("commit", "rollback")) {
                Transaction t = q.beginTransaction();
                q.send(grpcMessage(tx, end).build(), t);
                if (end.equals("commit")) t.commit(); else t.rollback();
            }
            Map<String, Set<Integer>> queues = new TreeMap<>();
            Map<String, Long> offsets = new HashMap<>();
            for (var got : ordered.await(30, 15, "ordered messages")) {
                MessageExt m = got.msg();
                int i = Integer.parseInt(Rmq.body(m));
                Harness.same("g" + i % 3, m.getProperty(MessageConst.PROPERTY_SHARDING_KEY), "message group");
                queues.computeIfAbsent("g" + i % 3, g -> new TreeSet<>()).add(m.getQueueId());
                offsets.put("" + i, m.getQueueOffset());
            }
            for (var e : queues.entrySet()) Harness.same(1, e.getValue().size(), "queues of " + e.getKey());
            for (int i = 3; i < 30; i++) Harness.check(offsets.get("" + i) > offsets.get("" + (i - 3)), "message " + i + " lies before the one sent before it");
            Harness.same(BODY + " commit", Rmq.body(committed.await(1, 15, "the committed message").get(0).msg()), "body");
            Thread.sleep(1500);
            Harness.same(1, committed.size(), "messages of two transactions, one rolled back");
            return "3 message groups, each in order in a queue of its own; 1 committed, 1 rolled back";
        } finally {
            c.shutdown();
            d.shutdown();
        }
    }

    private static String recall() throws Exception {
        String topic = Grpc.topic(h.name("recall"), "MIXED", 1);
        DefaultMQProducer p = Rmq.producer(topic, 0);
        try (Producer q = Grpc.producer(topic); SimpleConsumer c = Grpc.simple(topic, topic)) {
            long due = System.currentTimeMillis() + 3000;
            Message m = remotingMessage(topic, "remoting");
            m.setDeliverTimeMs(due);
            SendResult byRemoting = p.send(m);
            SendReceipt byGrpc = q.send(grpcMessage(topic, "grpc").setDeliveryTimestamp(due).build());
            q.send(grpcMessage(topic, "stays").setDeliveryTimestamp(due).build());
            Harness.same(byRemoting.getMsgId(), q.recallMessage(topic, byRemoting.getRecallHandle()).getMessageId().toString(), "id recalled by gRPC");
            Harness.same(byGrpc.getMessageId().toString(), p.recallMessage(topic, byGrpc.getRecallHandle()), "id recalled by remoting");
            Harness.Inbox<MessageView> in = new Harness.Inbox<>();
            Grpc.receive(c, 2, 6, true, in);
            Harness.same(1, in.size(), "messages that came");
            Harness.same(BODY + " stays", Grpc.body(in.all().get(0).msg()), "body");
            return "each recalled the other's; the third came";
        } finally {
            p.shutdown();
        }
    }

    /** The same moments are taken and refused by both, and the refusal tells the limit. */
    private static String limit() throws Exception {
        String topic = Grpc.topic(h.name("limit"), "DELAY", 1);
        DefaultMQProducer p = Rmq.producer(topic, 0);
        Set<String> limits = new TreeSet<>();
        try (Producer q = Grpc.producer(topic)) {
            for (long hours : new long[] {23, 25, 71, 73, 24 * 3652}) {
                long at = System.currentTimeMillis() + TimeUnit.HOURS.toMillis(hours);
                Message m = remotingMessage(topic, "r");
                m.setDeliverTimeMs(at);
                Harness.same(SendStatus.SEND_OK, p.send(m).getSendStatus(), hours + " h by remoting");
                q.recallMessage(topic, q.send(grpcMessage(topic, "g").setDeliveryTimestamp(at).build()).getRecallHandle());
            }
            long at = System.currentTimeMillis() + 3654 * DAY_MS;
            Message m = remotingMessage(topic, "far");
            m.setDeliverTimeMs(at);
            for (Harness.Case send : List.<Harness.Case>of(() -> "" + p.send(m), () -> "" + q.send(grpcMessage(topic, "far").setDeliveryTimestamp(at).build()))) {
                try {
                    throw Harness.fail("3654 days were accepted: " + send.run());
                } catch (org.apache.rocketmq.client.apis.ClientException | org.apache.rocketmq.client.exception.MQBrokerException e) {
                    limits.add(e.getMessage().replaceAll("(?s).*limit is (\\d+ ms).*", "$1"));
                }
            }
            Harness.same("[" + 3653 * DAY_MS + " ms]", limits.toString(), "limit told by both");
            return "23 h to 3652 d taken by both, 3654 d refused by both with the limit of " + limits;
        } finally {
            p.shutdown();
        }
    }
}
