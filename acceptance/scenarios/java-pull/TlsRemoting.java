import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.*;

/** The remoting client with TLS, on the same ports as without. */
public final class TlsRemoting {
    public static void main(String[] args) throws Exception {
        Harness h = new Harness("tls-java");
        h.add("delayed-message-over-tls", 60, () -> {
            String topic = h.name("tls");
            DefaultMQProducer p = new DefaultMQProducer("p_" + topic);
            p.setUseTLS(true);
            Rmq.start(p);
            Compat.createTopic(p, topic, 1);
            Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
            DefaultMQPushConsumer c = Rmq.consumer(topic);
            c.setUseTLS(true);
            c.subscribe(topic, "*");
            c.registerMessageListener(Rmq.each(m -> {
                in.put(m);
                return true;
            }));
            Rmq.start(c, topic, 1);
            Message m = Rmq.msg(topic, "secret");
            m.setDeliverTimeMs(System.currentTimeMillis() + 1500);
            p.send(m);
            var got = in.await(1, 10, "the message").get(0);
            Harness.same("secret", Rmq.body(got.msg()), "body");
            long late = Harness.late(m.getDeliverTimeMs(), m.getDeliverTimeMs(), got.at(), "the message");
            c.shutdown();
            p.shutdown();
            return "late ms: " + late;
        });
        h.run();
    }
}
