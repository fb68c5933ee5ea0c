//! Sends and receives with the Rust client, and says so line by line: see clients.py.
use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::MessageBuilder;
use rocketmq::{Producer, SimpleConsumer};
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const INVISIBLE: Duration = Duration::from_secs(10);

fn say(what: String) {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let line = format!("{} {at}\n", what.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).unwrap();
}

fn option() -> ClientOption {
    let mut o = ClientOption::default();
    o.set_access_url(std::env::var("GRPC").unwrap());
    o.set_enable_tls(false);
    o
}

async fn receive(c: SimpleConsumer, topic: String) {
    loop {
        match c.receive_with(&topic, &FilterExpression::new(FilterType::Tag, "*"), 16, INVISIBLE).await {
            Ok(got) => {
                for m in &got {
                    say(format!("simple got {}", String::from_utf8_lossy(m.body())));
                }
                for m in &got {
                    match c.ack(m).await {
                        Ok(_) => say(format!("simple acked {}", String::from_utf8_lossy(m.body()))),
                        Err(e) => say(format!("error simple {e:?}")),
                    }
                }
            }
            Err(e) => {
                say(format!("error simple {e:?}"));
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

async fn send(p: Producer, topic: String) {
    for i in 0.. {
        let body = format!("rust-{i}");
        let m = MessageBuilder::builder().set_topic(&topic).set_body(body.clone().into_bytes()).build().unwrap();
        match p.send(m).await {
            Ok(_) => say(format!("send sent {body}")),
            Err(e) => say(format!("error send {e:?}")),
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (topic, group, roles) = (args[1].clone(), &args[2], &args[3]);
    if roles.split(',').any(|r| r == "simple") {
        let mut o = SimpleConsumerOption::default();
        o.set_topics(vec![&topic]);
        o.set_consumer_group(format!("{group}_simple"));
        let mut c = SimpleConsumer::new(o, option()).unwrap();
        c.start().await.unwrap();
        tokio::spawn(receive(c, topic.clone()));
    }
    if roles.split(',').any(|r| r == "send") {
        let mut o = ProducerOption::default();
        o.set_topics(vec![&topic]);
        let mut p = Producer::new(o, option()).unwrap();
        p.start().await.unwrap();
        tokio::spawn(send(p, topic));
    }
    say("ready".into());
    tokio::time::sleep(Duration::from_secs(args[4].parse().unwrap())).await;
    std::process::exit(0);
}
