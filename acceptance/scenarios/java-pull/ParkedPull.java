import java.util.*;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.*;

/**
 * 30 consumers of 30 groups wait with parked pulls for a message that becomes due, with no other traffic. A first round
 * warms the clients up and is not counted.
 */
public final class ParkedPull {
    private static final int GROUPS = 30, ROUNDS = 5;

    public static void main(String[] args) throws Exception {
        Harness h = new Harness("parked-pull");
        h.add("30-groups-are-woken-by-a-due-message", 180, () -> {
            String topic = h.name("parked");
            DefaultMQProducer p = Rmq.producer(topic, 1);
            Queue<Long> late = new ConcurrentLinkedQueue<>();
            Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
            List<DefaultMQPushConsumer> all = IntStream.range(0, GROUPS).parallel().mapToObj(i -> {
                try {
                    return Rmq.consume(topic, topic + "_" + i, in);
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }).toList();
            Thread.sleep(2000);
            for (int round = 0; round <= ROUNDS; round++) {
                Message m = Rmq.msg(topic, "round " + round);
                m.setDeliverTimeMs(System.currentTimeMillis() + 3000);
                p.send(m);
                var got = in.await(GROUPS * (round + 1), 8, "messages of round " + round);
                if (round > 0) got.subList(GROUPS * round, got.size()).forEach(g -> late.add(g.at() - m.getDeliverTimeMs()));
            }
            List<Long> ordered = late.stream().sorted().toList();
            Harness.check(ordered.get(0) >= 0, "one came " + -ordered.get(0) + " ms early");
            Harness.same(GROUPS * (ROUNDS + 1), in.size(), "messages");
            Harness.check(Histogram.at(ordered, 50) <= 20, "the median is " + Histogram.at(ordered, 50) + " ms late, more than 20");
            all.parallelStream().forEach(DefaultMQPushConsumer::shutdown);
            p.shutdown();
            return ROUNDS + " rounds; late ms: " + Histogram.of(ordered);
        });
        h.run();
    }
}
