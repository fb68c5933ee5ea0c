// Sends and receives with the Node client, and says so line by line: see clients.py.
'use strict';
const { Producer, SimpleConsumer, PushConsumer, ConsumeResult, FilterExpression } = require('rocketmq-client-nodejs');

const [topic, group, roles, seconds] = process.argv.slice(2);
const base = { endpoints: process.env.GRPC, namespace: '', sslEnabled: false, logger: { info() {}, warn() {}, debug() {}, error() {} } };
const sleep = ms => new Promise(r => setTimeout(r, ms));
const say = what => process.stdout.write(`${String(what).replace(/\s+/g, ' ')} ${Date.now()}\n`);

async function receive(c) {
  for (;;) {
    try {
      const got = await c.receive(16, 10000);
      for (const m of got) say(`simple got ${m.body}`);
      for (const m of got) { await c.ack(m); say(`simple acked ${m.body}`); }
    } catch (e) {
      say(`error simple ${e.message}`);
      await sleep(200);
    }
  }
}

async function send(p) {
  for (let i = 0; ; i++) {
    const body = `node-${i}`;
    try {
      await p.send({ topic, body: Buffer.from(body), deliveryTimestamp: new Date(Date.now() + 300) });
      say(`send sent ${body}`);
    } catch (e) {
      say(`error send ${e.message}`);
    }
    await sleep(250);
  }
}

(async () => {
  const wanted = roles.split(',');
  if (wanted.includes('push'))
    await new PushConsumer({ ...base, consumerGroup: `${group}_push`, subscriptions: new Map([[topic, FilterExpression.SUB_ALL]]),
      messageListener: { consume: async m => { say(`push got ${m.body}`); return ConsumeResult.SUCCESS; } } }).startup();
  if (wanted.includes('simple')) {
    const c = new SimpleConsumer({ ...base, consumerGroup: `${group}_simple`, subscriptions: new Map([[topic, '*']]), awaitDuration: 10000 });
    await c.startup();
    receive(c);
  }
  if (wanted.includes('send')) {
    const p = new Producer({ ...base, topic });
    await p.startup();
    send(p);
  }
  say('ready');
  await sleep(Number(seconds) * 1000);
  process.exit(0);
})();
process.on('unhandledRejection', e => say(`error unhandled ${e.message}`));
