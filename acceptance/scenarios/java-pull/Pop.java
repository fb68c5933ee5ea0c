import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.*;

/**
 * The push consumer in POP mode, as RocketMQ 5 brings it: mqadmin sets the group's mode for the topic, the client asks the
 * server what to do (setClientRebalance(false)) and then takes messages with leases.
 *
 *   Pop                                        the cases
 *   Pop hold TOPIC GROUP INVISIBLE_MS          a consumer that takes messages, says so and never finishes one
 */
public final class Pop {
    /** Java's client asks for a failed message after 10 s, then after 30 s. */
    private static final int FIRST_STEP = 10_000, SECOND_STEP = 30_000;

    static Harness h;

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            hold(args[1], args[2], Long.parseLong(args[3]));
            return;
        }
        h = new Harness("pop-java");
        h.add("failing-one-comes-after-10-s-and-ends-in-the-dlq", 90, Pop::failing);
        h.add("killed-consumers-messages-come-to-another", 90, Pop::killed);
        h.add("delayed-messages-on-time", 60, Pop::delayed);
        h.add("filters-by-tag-and-sql92", 60, Pop::filters);
        h.run();
    }

    /** A consumer in POP mode, started: it holds no queue but a share of all of them. */
    static DefaultMQPushConsumer consumer(String topic, String group, MessageSelector filter, long invisibleMs,
        Function<MessageExt, Boolean> each) throws Exception {
        DefaultMQPushConsumer c = Rmq.consumer(group);
        c.setClientRebalance(false);
        c.setPopInvisibleTime(invisibleMs);
        c.setConsumeThreadMax(20);
        c.setConsumeThreadMin(20);
        c.subscribe(topic, filter);
        c.registerMessageListener(Rmq.each(each));
        c.start();
        Harness.until(20, "assignment of " + topic + " by pop", () -> !c.getDefaultMQPushConsumerImpl().getRebalanceImpl()
            .getPopProcessQueueTable().isEmpty());
        Harness.same(0L, Rmq.queues(c, topic), "queues of " + topic + " that are pulled");
        return c;
    }

    /** A producer, the topic, and a group that pops it and retries so often. */
    static DefaultMQProducer setup(String topic, String group, int retries) throws Exception {
        DefaultMQProducer p = Rmq.producer(topic, 4);
        mqadmin("updateSubGroup", "-b", Harness.env("BROKER", "127.0.0.1:10911"), "-g", group, "-r", Integer.toString(retries));
        mqadmin("setConsumeMode", "-b", Harness.env("BROKER", "127.0.0.1:10911"), "-t", topic, "-g", group, "-m", "POP", "-q", "0");
        return p;
    }

    static void mqadmin(String... command) throws Exception {
        List<String> all = new ArrayList<>(List.of(java(), "-Xmx200m", "-XX:TieredStopAtLevel=1", "-Duser.home="
            + System.getProperty("user.home"), "-Drocketmq.home.dir=" + System.getProperty("user.home"), "-cp",
            Harness.env("MQADMIN_CLASSES", ""), "org.apache.rocketmq.tools.command.MQAdminStartup"));
        all.addAll(List.of(command));
        Collections.addAll(all, "-n", Harness.NAMESRV);
        Process mqadmin = new ProcessBuilder(all).redirectErrorStream(true).start();
        String said = new String(mqadmin.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Harness.check(said.contains("success") && !said.contains("Exception"), String.join(" ", command) + " says " + said);
    }

    static String java() { return System.getProperty("java.home") + "/bin/java"; }

    static String failing() throws Exception {
        String topic = h.name("failing");
        DefaultMQProducer p = setup(topic, topic, 1);
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = consumer(topic, topic, MessageSelector.byTag("*"), 60_000, m -> {
            in.put(m);
            return !Rmq.body(m).equals("bad");
        });
        for (String body : List.of("good", "bad", "good")) p.send(Rmq.msg(topic, body));
        in.await(3, 10, "messages");
        long failed = in.all().stream().filter(g -> Rmq.body(g.msg()).equals("bad")).findFirst().get().at();
        var again = in.await(4, 20, "the failed one again").get(3);
        Harness.same("bad", Rmq.body(again.msg()), "what came again");
        Harness.same(1, again.msg().getReconsumeTimes(), "its reconsume times");
        Harness.same(topic, again.msg().getTopic(), "its topic");
        long first = Harness.late(failed + FIRST_STEP, failed + FIRST_STEP, again.at(), "the second attempt");

        DefaultMQPushConsumer dead = Rmq.consumer(topic + "_dead");
        Harness.Inbox<MessageExt> letters = new Harness.Inbox<>();
        dead.subscribe("%DLQ%" + topic, "*");
        dead.registerMessageListener(Rmq.each(m -> {
            letters.put(m);
            return true;
        }));
        dead.start();
        // the topic is made by the first dead letter, and the client looks at the routes now and then only
        Harness.until(40, "route of the dead letters", () -> {
            dead.getDefaultMQPushConsumerImpl().getmQClientFactory().updateTopicRouteInfoFromNameServer();
            dead.getDefaultMQPushConsumerImpl().doRebalance();
            Thread.sleep(200);
            return Rmq.queues(dead, "%DLQ%" + topic) > 0;
        });
        var letter = letters.await(1, 20, "the dead letter").get(0);
        Harness.same("bad", Rmq.body(letter.msg()), "the dead letter");
        Harness.same(topic, letter.msg().getProperty("DLQ_ORIGIN_TOPIC"), "its DLQ_ORIGIN_TOPIC");
        long stored = letter.msg().getStoreTimestamp(), last = again.at() + SECOND_STEP;
        long second = Harness.late(last, last, stored, "the dead letter");
        Thread.sleep(1000);
        Harness.same(4, in.size(), "messages that the consumer got");
        Harness.same(1, letters.size(), "dead letters");
        c.shutdown();
        dead.shutdown();
        p.shutdown();
        return "late ms: second attempt " + first + ", dead letter " + second;
    }

    /** A process takes messages and is killed; a consumer that comes then gets each, not before the lease is over. */
    static String killed() throws Exception {
        String topic = h.name("killed");
        long invisible = 10_000;
        DefaultMQProducer p = setup(topic, topic, 16);
        Map<String, Long> taken = new ConcurrentHashMap<>();
        CountDownLatch all = new CountDownLatch(20);
        Process holder = new ProcessBuilder(java(), "-Xmx200m", "-XX:TieredStopAtLevel=1", "-Duser.home=" + System.getProperty("user.home"),
            "-Drocketmq.log.root=" + System.getProperty("rocketmq.log.root"), "-cp", System.getProperty("java.class.path"), "Pop",
            "hold", topic, topic, Long.toString(invisible)).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        new Thread(() -> {
            try (BufferedReader lines = holder.inputReader(StandardCharsets.UTF_8)) {
                for (String line; (line = lines.readLine()) != null; ) {
                    String[] words = line.split(" ");
                    if (words[0].equals("took") && taken.put(words[1], Long.parseLong(words[2])) == null) all.countDown();
                }
            } catch (IOException e) {
                // it was killed
            }
        }).start();
        try {
            for (int i = 0; i < 20; i++) p.send(Rmq.msg(topic, Integer.toString(i)));
            Harness.until(30, "all 20 messages taken by the process", () -> all.getCount() == 0);
        } finally {
            holder.destroyForcibly().waitFor();
        }
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = consumer(topic, topic, MessageSelector.byTag("*"), 60_000, m -> {
            in.put(m);
            return true;
        });
        List<Long> late = new ArrayList<>();
        for (var g : in.await(20, 30, "messages of the killed one")) {
            // it may be handed over later than the lease ends, where the consumer was not there yet
            long over = taken.get(Rmq.body(g.msg())) + invisible;
            Harness.check(g.at() >= over, Rmq.body(g.msg()) + " came " + (over - g.at()) + " ms before its lease was over");
            Harness.same(1, g.msg().getReconsumeTimes(), "reconsume times of " + Rmq.body(g.msg()));
            late.add(g.at() - over);
        }
        Thread.sleep(1000);
        Harness.same(20, in.size(), "messages (more: some came twice)");
        Harness.same(20L, in.all().stream().map(g -> Rmq.body(g.msg())).distinct().count(), "different messages");
        c.shutdown();
        p.shutdown();
        Collections.sort(late);
        return "20 back, " + late.get(0) + " to " + late.get(19) + " ms after their leases were over";
    }

    static void hold(String topic, String group, long invisibleMs) throws Exception {
        consumer(topic, group, MessageSelector.byTag("*"), invisibleMs, m -> {
            long popped = Long.parseLong(m.getProperty(MessageConst.PROPERTY_POP_CK).split(" ")[1]);
            System.out.println("took " + Rmq.body(m) + " " + popped);
            System.out.flush();
            try {
                Thread.sleep(600_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return false;
        });
        Thread.sleep(600_000);
    }

    static String delayed() throws Exception {
        String topic = h.name("delayed");
        DefaultMQProducer p = setup(topic, topic, 16);
        Harness.Inbox<MessageExt> in = new Harness.Inbox<>();
        DefaultMQPushConsumer c = consumer(topic, topic, MessageSelector.byTag("*"), 60_000, m -> {
            in.put(m);
            return true;
        });
        long base = System.currentTimeMillis() + 3000;
        for (int i = 0; i < 40; i++) {
            long due = base + i * 125;
            Message m = Rmq.msg(topic, i + " " + due);
            m.setDeliverTimeMs(due);
            p.send(m);
        }
        Message level = Rmq.msg(topic, "level " + (System.currentTimeMillis() + 5000));
        level.setDelayTimeLevel(2);
        p.send(level);
        List<Long> late = new ArrayList<>();
        for (var g : in.await(41, 20, "delayed messages")) {
            long due = Long.parseLong(Rmq.body(g.msg()).split(" ")[1]);
            late.add(Harness.late(due, due, g.at(), "message " + Rmq.body(g.msg())));
        }
        Thread.sleep(1000);
        Harness.same(41, in.size(), "messages (more: some came twice)");
        c.shutdown();
        p.shutdown();
        Collections.sort(late);
        return "none early, lost or double; late ms: " + Histogram.of(late);
    }

    static String filters() throws Exception {
        String topic = h.name("filters");
        DefaultMQProducer p = setup(topic, topic + "_tag", 16);
        setup(topic, topic + "_sql", 16).shutdown();
        Harness.Inbox<MessageExt> tag = new Harness.Inbox<>(), sql = new Harness.Inbox<>();
        DefaultMQPushConsumer byTag = consumer(topic, topic + "_tag", MessageSelector.byTag("A || C"), 60_000, m -> {
            tag.put(m);
            return true;
        });
        DefaultMQPushConsumer bySql = consumer(topic, topic + "_sql", MessageSelector.bySql("n BETWEEN 3 AND 5"), 60_000, m -> {
            sql.put(m);
            return true;
        });
        String[] tags = "A B C A B C D".split(" ");
        for (int i = 0; i < tags.length; i++) {
            Message m = Rmq.msg(topic, tags[i], null, Integer.toString(i));
            m.putUserProperty("n", Integer.toString(i));
            p.send(m);
        }
        tag.await(4, 10, "messages with tag A or C");
        sql.await(3, 10, "messages with n from 3 to 5");
        Thread.sleep(1000);
        Harness.same(4, tag.size(), "messages by tag");
        Harness.same(3, sql.size(), "messages by SQL92");
        byTag.shutdown();
        bySql.shutdown();
        p.shutdown();
        return "4 and 3 of 7";
    }
}
