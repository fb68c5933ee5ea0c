import java.util.*;
import java.util.concurrent.*;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.message.*;

/** 1,000 messages with random due times within ten seconds, by the remoting client. */
public final class Spread {
    private static final int COUNT = 1000;

    public static void main(String[] args) throws Exception {
        Harness h = new Harness("spread-java");
        h.add("1000-random-due-times", 120, () -> {
            String topic = h.name("spread");
            DefaultMQProducer p = Rmq.producer(topic, 4);
            Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
            DefaultMQPushConsumer c = Rmq.consume(topic, topic, in);
            Random random = new Random(4);
            long base = System.currentTimeMillis() + 6000;
            ExecutorService senders = Executors.newFixedThreadPool(16);
            List<Future<SendResult>> sent = new ArrayList<>();
            for (int i = 0; i < COUNT; i++) {
                long due = base + random.nextInt(10_000);
                Message m = Rmq.msg(topic, i + " " + due);
                m.setDeliverTimeMs(due);
                sent.add(senders.submit(() -> p.send(m)));
            }
            for (Future<SendResult> s : sent) Harness.same(SendStatus.SEND_OK, s.get().getSendStatus(), "status of a send");
            Harness.check(System.currentTimeMillis() < base, "sending took too long for this case to mean anything");
            var got = in.await(COUNT, 30, "messages");
            Thread.sleep(1000);
            Harness.same(COUNT, in.size(), "messages (more: some came twice)");
            Harness.same((long) COUNT, got.stream().map(g -> Rmq.body(g.msg())).distinct().count(), "different messages");
            List<Long> late = got.stream().map(g -> g.at() - Long.parseLong(Rmq.body(g.msg()).split(" ")[1])).toList();
            Harness.check(Collections.min(late) >= 0, "one came " + -Collections.min(late) + " ms early");
            c.shutdown();
            p.shutdown();
            return "none early, lost or double; late ms: " + Histogram.of(late);
        });
        h.run();
    }
}
