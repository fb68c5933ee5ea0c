import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.message.*;

/** Consumers of one group come and go while delayed messages fall due. */
public final class Rebalance {
    private static final int COUNT = 20_000, QUEUES = 6;
    /** From the first due time to the last, ms. */
    private static final long SPREAD = 16_000;

    /** One delivery: to whom, from which place, when, and how long after its due time. */
    private record Delivery(String consumer, String place, long at, long late) { }

    static Harness h;

    public static void main(String[] args) throws Exception {
        h = new Harness("rebalance");
        h.add("20000-due-while-consumers-come-and-go", 110, () -> comeAndGo("concurrent", false));
        h.add("20000-due-while-ordered-consumers-come-and-go", 110, () -> comeAndGo("ordered", true));
        h.run();
    }

    static String comeAndGo(String what, boolean ordered) throws Exception {
        String topic = h.name(what);
        DefaultMQProducer p = Rmq.producer(topic, QUEUES);
        Map<String, Queue<Delivery>> got = new ConcurrentHashMap<>();
        AtomicInteger deliveries = new AtomicInteger();
        DefaultMQPushConsumer a = consumer(topic, "a", ordered, got, deliveries), b = consumer(topic, "b", ordered, got, deliveries);
        Rmq.start(a, topic, QUEUES);
        Rmq.start(b, topic, 1);
        Harness.until(45, "even share", () -> Rmq.queues(a, topic) == QUEUES / 2 && Rmq.queues(b, topic) == QUEUES / 2);

        long base = System.currentTimeMillis() + 14_000;
        send(p, topic, base);
        Harness.check(System.currentTimeMillis() < base, "sending took too long for this case to mean anything");

        at(base + SPREAD / 4);
        DefaultMQPushConsumer c = consumer(topic, "c", ordered, got, deliveries);
        Rmq.start(c, topic, 1);
        Harness.until(20, "a third", () -> List.of(a, b, c).stream().allMatch(one -> Rmq.queues(one, topic) == QUEUES / 3));
        long joined = System.currentTimeMillis() - base;
        at(base + SPREAD * 3 / 5);
        a.shutdown();
        Harness.until(20, "half again", () -> Rmq.queues(b, topic) == QUEUES / 2 && Rmq.queues(c, topic) == QUEUES / 2);
        long left = System.currentTimeMillis() - base;
        Harness.check(left < SPREAD, "a was gone only after the last message fell due");

        at(base + SPREAD);
        Harness.until(30, "message left", () -> got.size() == COUNT);
        Thread.sleep(2000);
        List<Long> late = new ArrayList<>();
        int twiceStored = 0, twiceRead = 0;
        Map<String, Integer> moves = new TreeMap<>();
        for (var message : got.entrySet()) {
            List<Delivery> all = List.copyOf(message.getValue());
            for (Delivery one : all) late.add(one.late);
            if (all.stream().map(Delivery::place).distinct().count() > 1) twiceStored++;
            else if (all.size() > 1) twiceRead++;
            if (all.size() > 1) moves.merge(String.join(">", all.stream().map(Delivery::consumer).toList()), 1, Integer::sum);
        }
        b.shutdown();
        c.shutdown();
        p.shutdown();
        Harness.check(Collections.min(late) >= 0, "one came " + -Collections.min(late) + " ms early");
        Harness.same(0, twiceStored, "messages stored twice");
        Harness.same(0, twiceRead, "messages read twice " + moves);
        return "none lost, early or double, with a third consumer after " + joined + " ms and two again after " + left
            + " ms; late ms: " + Histogram.of(late);
    }

    /** Sends all of them, with 256 in flight. */
    private static void send(DefaultMQProducer p, String topic, long base) throws Exception {
        Semaphore flight = new Semaphore(256);
        AtomicInteger stored = new AtomicInteger();
        for (int i = 0; i < COUNT; i++) {
            long due = base + i * SPREAD / COUNT;
            Message m = Rmq.msg(topic, i + " " + due);
            m.setDeliverTimeMs(due);
            flight.acquire();
            p.send(m, new SendCallback() {
                @Override public void onSuccess(SendResult r) {
                    if (r.getSendStatus() == SendStatus.SEND_OK) stored.incrementAndGet();
                    flight.release();
                }

                @Override public void onException(Throwable e) {
                    e.printStackTrace();
                    flight.release();
                }
            });
        }
        Harness.check(flight.tryAcquire(256, 10, TimeUnit.SECONDS), "a send has no answer");
        Harness.same(COUNT, stored.get(), "sends with SEND_OK");
    }

    private static DefaultMQPushConsumer consumer(String topic, String name, boolean ordered, Map<String, Queue<Delivery>> got,
        AtomicInteger deliveries) throws Exception {
        DefaultMQPushConsumer c = Rmq.consumer(topic);
        c.subscribe(topic, "*");
        c.setAwaitTerminationMillisWhenShutdown(5000);
        if (ordered) {
            c.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                for (MessageExt m : messages) take(m, name, got, deliveries);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            c.registerMessageListener(Rmq.each(m -> take(m, name, got, deliveries)));
        }
        return c;
    }

    private static boolean take(MessageExt m, String name, Map<String, Queue<Delivery>> got, AtomicInteger deliveries) {
        long now = System.currentTimeMillis();
        String body = Rmq.body(m);
        long due = Long.parseLong(body.split(" ")[1]);
        got.computeIfAbsent(body, any -> new ConcurrentLinkedQueue<>())
            .add(new Delivery(name, m.getQueueId() + "@" + m.getQueueOffset(), now, now - due));
        deliveries.incrementAndGet();
        return true;
    }

    private static void at(long moment) throws InterruptedException {
        Thread.sleep(Math.max(0, moment - System.currentTimeMillis()));
    }
}
