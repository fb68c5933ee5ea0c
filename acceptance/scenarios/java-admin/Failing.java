import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.remoting.protocol.admin.TopicOffset;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Consumers that fail: when they get a message again, when it is a dead letter, and how mqadmin sends that again. */
public final class Failing {
    static Harness h;
    static DefaultMQAdminExt admin;

    public static void main(String[] args) throws Exception {
        h = new Harness("failing");
        admin = new DefaultMQAdminExt(10_000);
        admin.setNamesrvAddr(Harness.NAMESRV);
        admin.setInstanceName(Rmq.instance());
        admin.start();
        h.add("attempts-come-at-the-documented-times-then-one-dead-letter", 90, () -> {
            String topic = h.name("levels");
            Attempts a = new Attempts(topic, 2, context -> 0);
            a.send(Rmq.msg(topic, "tagD", "keyD", "fails"));
            List<Long> gaps = a.gaps(3, 50);
            within(10_000, gaps.get(0), "second attempt");
            within(30_000, gaps.get(1), "third attempt");
            MessageExt dead = a.oneDeadLetter();
            Harness.same("fails tagD keyD", Rmq.body(dead) + " " + dead.getTags() + " " + dead.getKeys(), "dead letter");
            Harness.same(topic, dead.getProperty(MessageConst.PROPERTY_RETRY_TOPIC), "RETRY_TOPIC of the dead letter");
            a.close();
            return "attempts after " + gaps + " ms, dead letter " + a.deadAfter(dead) + " ms after the last";
        });
        h.add("chosen-levels-then-a-dead-letter-at-once", 60, () -> {
            String topic = h.name("chosen");
            Attempts a = new Attempts(topic, 2, context -> 2 + context);
            Message m = Rmq.msg(topic, "delayed, then fails");
            m.setDelayTimeMs(1500);
            a.send(m);
            List<Long> gaps = a.gaps(3, 30);
            within(5_000, gaps.get(0), "second attempt");
            within(10_000, gaps.get(1), "third attempt");
            MessageExt dead = a.oneDeadLetter();
            a.close();
            return "attempts after " + gaps + " ms, dead letter " + a.deadAfter(dead) + " ms after the last";
        });
        h.add("level-minus-one-is-a-dead-letter-at-once", 60, () -> {
            String topic = h.name("once");
            Attempts a = new Attempts(topic, 16, context -> -1);
            a.send(Rmq.msg(topic, "never again"));
            a.gaps(1, 20);
            MessageExt dead = a.oneDeadLetter();
            a.close();
            return "dead letter " + a.deadAfter(dead) + " ms after the first attempt";
        });
        h.add("mqadmin-sends-dead-letters-again", 90, Failing::mqadminSendsAgain);
        h.add("an-ordered-consumers-poison-goes-and-the-good-follow", 60, Failing::ordered);
        h.run();
    }

    static void within(long want, long got, String what) {
        Harness.check(got >= want && got <= want + 2 * Harness.LATE_MS, what + " after " + got + " ms, not " + want);
    }

    static String mqadminSendsAgain() throws Exception {
        String topic = h.name("again");
        Attempts a = new Attempts(topic, 0, context -> 0);
        Message m = Rmq.msg(topic, "tagA", "keyA", "dead, then alive");
        m.setDelayTimeMs(1000);
        a.send(m);
        a.gaps(1, 20);
        MessageExt dead = a.oneDeadLetter();
        a.fails = false;
        String id = offsetId(dead);
        String direct = mqadmin("queryMsgById", "-t", a.deadTopic, "-i", id, "-g", topic, "-d", a.consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId());
        Harness.check(direct.contains("CR_SUCCESS"), "handing the dead letter to the consumer: " + direct);
        MessageExt handed = a.in.await(2, 10, "the dead letter, handed over").get(1).msg();
        Harness.same(a.deadTopic + " dead, then alive", handed.getTopic() + " " + Rmq.body(handed), "what was handed over");
        String byKey = mqadmin("queryMsgByUniqueKey", "-t", a.deadTopic, "-i", dead.getMsgId());
        Harness.check(byKey.contains("[keyA]") && byKey.contains("[tagA]"), "the dead letter by its unique key: " + byKey);

        Harness.Inbox<MessageExt> letters = new Harness.Inbox<>();
        DefaultMQPushConsumer reader = Rmq.consume(a.deadTopic, topic + "_reader", letters);
        String sent = mqadmin("queryMsgById", "-t", a.deadTopic, "-i", id, "-s", "true");
        Harness.check(sent.contains("SEND_OK"), "sending the dead letter again: " + sent);
        for (var letter : letters.await(2, 10, "the dead letter and itself sent again"))
            Harness.same("dead, then alive", Rmq.body(letter.msg()), "dead letter");

        long before = System.currentTimeMillis();
        String origin = mqadmin("queryMsgById", "-t", topic, "-i", dead.getProperty(MessageConst.PROPERTY_ORIGIN_MESSAGE_ID), "-s", "true");
        Harness.check(origin.contains("SEND_OK"), "sending the message again: " + origin);
        var again = a.in.await(3, 10, "the message sent again").get(2);
        Harness.same("dead, then alive", Rmq.body(again.msg()), "the message sent again");
        Thread.sleep(1500);
        Harness.same(3, a.in.size(), "attempts in all");
        reader.shutdown();
        a.close();
        return "handed to its consumer, sent again to the dead letters, and from its first place (" + (again.at() - before) + " ms with mqadmin's start)";
    }

    /** After three attempts of its own an ordered consumer gives a message up, and goes on. */
    static String ordered() throws Exception {
        String topic = h.name("ordered");
        DefaultMQProducer p = Rmq.producer(topic, 1);
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = Rmq.consumer(topic);
        c.setMaxReconsumeTimes(3);
        c.setSuspendCurrentQueueTimeMillis(500);
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            boolean good = true;
            for (MessageExt m : messages) {
                in.put(m);
                good &= !Rmq.body(m).equals("poison");
            }
            return good ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
        });
        Rmq.start(c, topic, 1);
        p.send(Rmq.msg(topic, "poison"));
        for (int i = 0; i < 5; i++) p.send(Rmq.msg(topic, "good " + i));
        List<String> got = in.await(9, 30, "attempts and messages").stream().map(g -> Rmq.body(g.msg())).toList();
        Harness.same(List.of("poison", "poison", "poison", "poison", "good 0", "good 1", "good 2", "good 3", "good 4"), got, "messages");
        MessageExt dead = dead(topic);
        Harness.same("poison", Rmq.body(dead), "dead letter");
        c.shutdown();
        p.shutdown();
        return "four attempts, then a dead letter, and five good ones in order";
    }

    /** The one dead letter of a group. */
    static MessageExt dead(String group) throws Exception {
        String topic = "%DLQ%" + group;
        Harness.until(10, "dead letter of " + group, () -> letters(topic) > 0);
        Thread.sleep(3000);
        Harness.same(1L, letters(topic), "dead letters");
        return pull(new MessageQueue(topic, broker(), 0));
    }

    static long letters(String topic) {
        try {
            return admin.examineTopicStats(topic).getOffsetTable().values().stream().mapToLong(TopicOffset::getMaxOffset).sum();
        } catch (Exception notYet) {
            return 0;
        }
    }

    static String broker() throws Exception { return admin.examineBrokerClusterInfo().getBrokerAddrTable().keySet().iterator().next(); }

    @SuppressWarnings("deprecation")
    static MessageExt pull(MessageQueue queue) throws Exception {
        var c = new org.apache.rocketmq.client.consumer.DefaultMQPullConsumer("TOOLS_CONSUMER");
        c.setNamesrvAddr(Harness.NAMESRV);
        c.setInstanceName(Rmq.instance());
        c.start();
        try {
            return c.pull(queue, "*", 0, 1).getMsgFoundList().get(0);
        } finally {
            c.shutdown();
        }
    }

    static String offsetId(MessageExt m) { return ((MessageClientExt) m).getOffsetMsgId(); }

    /** Runs mqadmin as its script does, and gives what it prints. */
    static String mqadmin(String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-Xmx200m", "-XX:TieredStopAtLevel=1",
            "-Duser.home=" + System.getProperty("user.home"), "-Drocketmq.home.dir=" + System.getProperty("user.home"), "-cp",
            System.getProperty("java.class.path"), "org.apache.rocketmq.tools.command.MQAdminStartup"));
        command.addAll(List.of(words));
        command.addAll(List.of("-n", Harness.NAMESRV));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectInput(ProcessBuilder.Redirect.from(new java.io.File("/dev/null"))).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor(20, TimeUnit.SECONDS);
        System.err.println("== mqadmin " + String.join(" ", words) + "\n" + said);
        return said;
    }

    /** A consumer that fails for as long as it shall, and what it was given. */
    static final class Attempts {
        final String topic, deadTopic;
        final DefaultMQProducer producer;
        final DefaultMQPushConsumer consumer;
        final Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        volatile boolean fails = true;

        /** level: the level asked for, by the number of attempts before. */
        Attempts(String topic, int retries, ToIntFunction<Integer> level) throws Exception {
            this.topic = topic;
            deadTopic = "%DLQ%" + topic;
            producer = Rmq.producer(topic, 1);
            consumer = Rmq.consumer(topic);
            consumer.setMaxReconsumeTimes(retries);
            consumer.subscribe(topic, "*");
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                for (MessageExt m : messages) {
                    context.setDelayLevelWhenNextConsume(level.applyAsInt(m.getReconsumeTimes()));
                    in.put(m);
                }
                return fails ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
            Rmq.start(consumer, topic, 1);
        }

        void send(Message m) throws Exception {
            SendResult r = producer.send(m);
            Harness.same(org.apache.rocketmq.client.producer.SendStatus.SEND_OK, r.getSendStatus(), "status of the send");
        }

        /** Waits for so many attempts; gives the times between them. */
        List<Long> gaps(int attempts, double seconds) throws Exception {
            var got = in.await(attempts, seconds, "attempts");
            List<Long> gaps = new ArrayList<>();
            for (int i = 0; i < attempts; i++) {
                Harness.same(i, got.get(i).msg().getReconsumeTimes(), "reconsume times at attempt " + (i + 1));
                Harness.same(topic, got.get(i).msg().getTopic(), "topic at attempt " + (i + 1));
                if (i > 0) gaps.add(got.get(i).at() - got.get(i - 1).at());
            }
            return gaps;
        }

        MessageExt oneDeadLetter() throws Exception {
            int attempts = in.size();
            MessageExt dead = dead(topic);
            Harness.check(deadAfter(dead) < 1000, "the dead letter was written " + deadAfter(dead) + " ms after the last attempt");
            Harness.same(attempts, in.size(), "attempts");
            return dead;
        }

        long deadAfter(MessageExt dead) {
            return dead.getStoreTimestamp() - in.all().stream().filter(g -> g.at() <= dead.getStoreTimestamp()).mapToLong(Harness.Inbox.Got::at).max().orElse(0);
        }

        void close() {
            consumer.shutdown();
            producer.shutdown();
        }
    }
}
