import java.time.Duration;
import java.util.*;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.consumer.*;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/** The gRPC client as it is by default: with TLS, on the same port as without. */
public final class TlsGrpc {
    public static void main(String[] args) throws Exception {
        Harness h = new Harness("tls-java-grpc");
        h.add("delayed-message-over-tls", 60, () -> {
            String topic = Grpc.topic(h.name("tls"), "DELAY", 1);
            ClientConfiguration tls = ClientConfiguration.newBuilder().setEndpoints(Harness.GRPC).build();
            Producer p = Grpc.SERVICE.newProducerBuilder().setClientConfiguration(tls).setTopics(topic).build();
            SimpleConsumer c = Grpc.SERVICE.newSimpleConsumerBuilder().setClientConfiguration(tls).setConsumerGroup(topic)
                .setAwaitDuration(Duration.ofSeconds(10)).setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).build();
            long due = System.currentTimeMillis() + 1500;
            p.send(Grpc.msg(topic, "secret").setDeliveryTimestamp(due).build());
            List<MessageView> got = c.receive(1, Duration.ofSeconds(30));
            long at = System.currentTimeMillis();
            Harness.same(1, got.size(), "messages");
            Harness.same("secret", Grpc.body(got.get(0)), "body");
            c.ack(got.get(0));
            return "late ms: " + Harness.late(due, due, at, "the message");
        });
        h.run();
    }
}
