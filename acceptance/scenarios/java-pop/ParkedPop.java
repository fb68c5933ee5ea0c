import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;
import org.apache.rocketmq.client.apis.consumer.*;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/**
 * 30 simple consumers of 30 groups wait with parked receives for a message that becomes due, with no other traffic: acks
 * are for after the round. A first round warms the clients up and is not counted.
 */
public final class ParkedPop {
    private static final int GROUPS = 30, ROUNDS = 5;

    public static void main(String[] args) throws Exception {
        Harness h = new Harness("parked-pop");
        h.add("30-groups-are-woken-by-a-due-message", 180, () -> {
            String topic = Grpc.topic(h.name("parked"), "DELAY", 1);
            Producer p = Grpc.producer(topic);
            Harness.Inbox<MessageView> in = new Harness.Inbox<>();
            Queue<Callable<Void>> acks = new ConcurrentLinkedQueue<>();
            List<SimpleConsumer> all = IntStream.range(0, GROUPS).mapToObj(i -> {
                try {
                    String group = Grpc.group(topic + "_" + i, g -> { });
                    return Grpc.simple(topic, group, FilterExpression.SUB_ALL, 15);
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }).toList();
            for (SimpleConsumer c : all) {
                Thread thread = new Thread(() -> {
                    try {
                        while (true) {
                            for (MessageView m : c.receive(1, Duration.ofSeconds(30))) {
                                in.put(m);
                                acks.add(() -> {
                                    c.ack(m);
                                    return null;
                                });
                            }
                        }
                    } catch (Exception e) {
                        e.printStackTrace();
                    }
                });
                thread.setDaemon(true);
                thread.start();
            }
            Thread.sleep(3000);
            List<Long> late = new ArrayList<>();
            for (int round = 0; round <= ROUNDS; round++) {
                long due = System.currentTimeMillis() + 3000;
                p.send(Grpc.msg(topic, "round " + round).setDeliveryTimestamp(due).build());
                var got = in.await(GROUPS * (round + 1), 8, "messages of round " + round);
                if (round > 0) got.subList(GROUPS * round, got.size()).forEach(g -> late.add(g.at() - due));
                for (Callable<Void> ack; (ack = acks.poll()) != null; ) ack.call();
            }
            Collections.sort(late);
            Harness.check(late.get(0) >= 0, "one came " + -late.get(0) + " ms early");
            Harness.same(GROUPS * (ROUNDS + 1), in.size(), "messages");
            Harness.check(Histogram.at(late, 50) <= 20, "the median is " + Histogram.at(late, 50) + " ms late, more than 20");
            return ROUNDS + " rounds; late ms: " + Histogram.of(late);
        });
        h.run();
    }
}
