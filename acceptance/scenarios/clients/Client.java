import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import org.apache.rocketmq.client.apis.*;
import org.apache.rocketmq.client.apis.consumer.*;
import org.apache.rocketmq.client.apis.message.*;
import org.apache.rocketmq.client.apis.producer.Producer;

/** Sends and receives with the Java client, and says so line by line: see clients.py. */
public final class Client {
    private static final ClientServiceProvider SERVICE = ClientServiceProvider.loadService();
    private static final ClientConfiguration CONFIG = ClientConfiguration.newBuilder()
        .setEndpoints(env("GRPC", "127.0.0.1:8081")).enableSsl(env("TLS", "").equals("1")).build();
    private static final Duration INVISIBLE = Duration.ofSeconds(10);

    public static void main(String[] args) throws Exception {
        String topic = args[0], group = args[1];
        List<String> roles = List.of(args[2].split(","));
        long holdMs = Long.parseLong(env("HOLD_MS", "0"));
        Map<String, FilterExpression> all = Map.of(topic, FilterExpression.SUB_ALL);
        if (roles.contains("push"))
            SERVICE.newPushConsumerBuilder().setClientConfiguration(CONFIG).setConsumerGroup(group + "_push")
                .setSubscriptionExpressions(all).setConsumptionThreadCount(4).setMessageListener(m -> {
                    say("push got " + body(m));
                    pause(holdMs);
                    say("push done " + body(m));
                    return ConsumeResult.SUCCESS;
                }).build();
        if (roles.contains("simple")) {
            SimpleConsumer c = SERVICE.newSimpleConsumerBuilder().setClientConfiguration(CONFIG).setConsumerGroup(group + "_simple")
                .setAwaitDuration(Duration.ofSeconds(10)).setSubscriptionExpressions(all).build();
            thread(() -> receive(c));
        }
        if (roles.contains("send")) {
            Producer p = SERVICE.newProducerBuilder().setClientConfiguration(CONFIG).setTopics(topic).build();
            thread(() -> send(p, topic));
        }
        say("ready");
        pause(Long.parseLong(args[3]) * 1000);
        Runtime.getRuntime().halt(0);
    }

    private static void receive(SimpleConsumer c) {
        while (true) {
            try {
                List<MessageView> got = c.receive(16, INVISIBLE);
                for (MessageView m : got) say("simple got " + body(m));
                for (MessageView m : got) {
                    c.ack(m);
                    say("simple acked " + body(m));
                }
            } catch (Exception e) {
                say("error simple " + e);
                pause(200);
            }
        }
    }

    private static void send(Producer p, String topic) {
        for (int i = 0; true; i++) {
            String body = "java-" + i;
            try {
                p.send(SERVICE.newMessageBuilder().setTopic(topic).setBody(body.getBytes(StandardCharsets.UTF_8))
                    .setDeliveryTimestamp(System.currentTimeMillis() + 300).build());
                say("send sent " + body);
            } catch (Exception e) {
                say("error send " + e);
            }
            pause(250);
        }
    }

    private static String body(MessageView m) {
        ByteBuffer b = m.getBody().duplicate();
        byte[] bytes = new byte[b.remaining()];
        b.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static void say(String what) {
        String line = what.replaceAll("\\s+", " ") + " " + System.currentTimeMillis() + "\n";
        synchronized (System.out) {
            System.out.print(line);
            System.out.flush();
        }
    }

    private static void thread(Runnable r) {
        Thread t = new Thread(r);
        t.setDaemon(true);
        t.start();
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }
}
