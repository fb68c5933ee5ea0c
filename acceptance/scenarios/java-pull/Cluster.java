import java.util.*;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.message.*;

/**
 * Delayed messages through a topic that lies on two brokers of different make, found at one name server.
 * Arguments: the broker whose messages must not be early at all, then pairs of a case and its name server.
 */
public final class Cluster {
    private static final int EACH = 20, QUEUES = 2;
    /** A tick of the timer wheel of Apache's broker. */
    private static final long TICK_MS = 1000;

    public static void main(String[] args) throws Exception {
        Harness h = new Harness("cluster");
        for (int i = 1; i < args.length; i += 2) {
            String name = args[i], names = args[i + 1];
            h.add(name, 75, () -> both(h.name(name), names, args[0]));
        }
        h.run();
    }

    private static String both(String topic, String names, String exact) throws Exception {
        DefaultMQProducer p = new DefaultMQProducer("p_" + topic);
        p.setNamesrvAddr(names);
        p.setInstanceName(Rmq.instance());
        p.setSendMsgTimeout(10_000);
        p.start();
        Harness.until(30, "default topic on both brokers", () -> queues(p, "TBW102").size() > 8);
        p.createTopic("TBW102", topic, QUEUES, Map.of());
        Harness.until(20, "topic on both brokers", () -> queues(p, topic).size() == 2 * QUEUES);
        List<MessageQueue> queues = queues(p, topic);
        Harness.same(2L, queues.stream().map(MessageQueue::getBrokerName).distinct().count(), "brokers of the topic");

        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = Rmq.consumer(topic);
        c.setNamesrvAddr(names);
        c.subscribe(topic, "*");
        c.registerMessageListener(Rmq.each(m -> {
            in.put(m);
            return true;
        }));
        Rmq.start(c, topic, 2 * QUEUES);

        Random random = new Random(7);
        int sent = 0;
        for (int i = 0; i < EACH; i++) {
            for (MessageQueue queue : queues) {
                boolean level = i % 5 == 0;
                long due = System.currentTimeMillis() + (level ? 5000 : 4000 + random.nextInt(4000));
                Message m = Rmq.msg(topic, sent++ + " " + due);
                if (level) m.setDelayTimeLevel(2);
                else m.setDeliverTimeMs(due);
                Harness.same(SendStatus.SEND_OK, p.send(m, queue).getSendStatus(), "status of a send to " + queue);
            }
        }
        var got = in.await(sent, 30, "messages");
        Thread.sleep(1000);
        Harness.same(sent, in.size(), "messages (more: some came twice)");
        Harness.same((long) sent, got.stream().map(g -> Rmq.body(g.msg())).distinct().count(), "different messages");
        Map<String, List<Long>> late = new TreeMap<>(got.stream().collect(Collectors.groupingBy(
            g -> g.msg().getBrokerName(),
            Collectors.mapping(g -> g.at() - Long.parseLong(Rmq.body(g.msg()).split(" ")[1]), Collectors.toList()))));
        StringBuilder detail = new StringBuilder();
        for (var entry : late.entrySet()) {
            long earliest = Collections.min(entry.getValue()), bound = entry.getKey().equals(exact) ? 0 : -TICK_MS;
            Harness.same(QUEUES * EACH, entry.getValue().size(), "messages by " + entry.getKey());
            Harness.check(earliest >= bound, "one by " + entry.getKey() + " came " + -earliest + " ms early");
            detail.append(entry.getKey()).append(" late ms: ").append(Histogram.of(entry.getValue())).append("; ");
        }
        c.shutdown();
        p.shutdown();
        return sent + " of " + sent + "; " + detail;
    }

    private static List<MessageQueue> queues(DefaultMQProducer p, String topic) {
        try {
            return p.fetchPublishMessageQueues(topic);
        } catch (MQClientException notYet) {
            return List.of();
        }
    }
}
