import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../cluster/run.ts';
import { startAgent } from '../support/sshd/agent.ts';
import { echo, exchange, listenHere, openRoute, type Target } from '../support/sshd/open-route.ts';
import { makeKey, startSshd, type TestSshd } from '../support/sshd/sshd.ts';

const OPEN = ['GatewayPorts yes'];

let sshd: TestSshd;
let target: Target;

beforeAll(async () => {
  sshd = await startSshd(OPEN);
  target = await listenHere(echo);
});

afterAll(async () => {
  await target?.[Symbol.asyncDispose]();
  await sshd?.[Symbol.asyncDispose]();
});

const open = (options = {}) => openRoute(sshd, [target.port], options);
const ask = (port: number, text = 'hello') => exchange(sshd.address, port, text).then(String);
const refusal = (options = {}) =>
  open(options).then(
    async (opened) => {
      await opened[Symbol.asyncDispose]();
      throw new Error('the route opened');
    },
    (error: { code: string; message: string; hint?: string }) => error,
  );

describe('what sshd permits', () => {
  it('carries connections where GatewayPorts is yes', async () => {
    await sshd.restart(OPEN);
    await using opened = await open();
    expect(opened.route).toMatchObject({
      name: 'ssh',
      via: `root@${sshd.address}`,
      target: { address: sshd.address },
    });
    expect(await ask(opened.route.portFor(target.port))).toBe('hello');
    expect((await opened.route.explain())?.hint).toContain("the cluster's nodes");
  });

  it('carries connections where GatewayPorts is clientspecified, at the port that was asked for', async () => {
    await sshd.restart(['GatewayPorts clientspecified', 'PermitListen 7443 7444']);
    await using second = await listenHere(echo);
    await using opened = await openRoute(sshd, [target.port, second.port], { port: 7443 });
    expect([opened.route.portFor(target.port), opened.route.portFor(second.port)]).toEqual([7443, 7444]);
    expect(await ask(7444)).toBe('hello');
  });

  it('listens on the address that --address names, and on no other', async () => {
    const listening = async (): Promise<string[]> => {
      const [enter = '', ...more] = sshd.network.enter;
      const lines = (await run(enter, [...more, 'ss', '-ltnH', 'sport = :7443'])).trim().split('\n');
      return lines.map((line) => line.trim().split(/\s+/)[3]!).toSorted();
    };
    await sshd.restart(['GatewayPorts clientspecified']);
    await using opened = await open({ port: 7443, address: sshd.address });
    expect(await listening()).toEqual([`${sshd.address}:7443`]);
    expect(await ask(opened.route.portFor(target.port))).toBe('hello');
  });

  it('says what to change where GatewayPorts is no', async () => {
    await sshd.restart(['GatewayPorts no']);
    await using opened = await open();
    await expect(ask(opened.route.portFor(target.port))).rejects.toThrow('ECONNREFUSED');
    const explanation = await opened.route.explain();
    expect(explanation?.cause).toContain('loopback');
    expect(explanation?.hint).toContain('GatewayPorts clientspecified');
  });

  it('says so without being able to look, from the refusal alone', async () => {
    await sshd.restart(['GatewayPorts no', 'MaxSessions 0']);
    await using opened = await open();
    expect((await opened.route.explain())?.hint).toContain('GatewayPorts clientspecified');
  });

  it('carries connections where no session is allowed', async () => {
    await sshd.restart([...OPEN, 'MaxSessions 0']);
    await using opened = await open();
    expect(await ask(opened.route.portFor(target.port))).toBe('hello');
  });

  it.each([
    ['AllowTcpForwarding no', ['AllowTcpForwarding no'], {}],
    ['PermitListen of another port', ['PermitListen 7000'], { port: 7443 }],
  ])('names the line of sshd_config: %s', async (_, lines, options) => {
    await sshd.restart([...OPEN, ...lines]);
    const error = await refusal(options);
    expect(error.code).toBe('ssh.forwarding');
    expect(error.hint).toContain('AllowTcpForwarding yes');
    expect(error.hint).toContain('PermitListen');
  });

  it('names the port that is taken', async () => {
    await sshd.restart(OPEN);
    await using _ = await open({ port: 7443 });
    const error = await refusal({ port: 7443 });
    expect(error).toMatchObject({ code: 'ssh.forwarding' });
    expect(error.message).toContain('port 7443');
    expect(error.hint).toContain("ss -ltnp 'sport = 7443'");
  });
});

describe('connections', () => {
  beforeEach(() => sshd.restart(OPEN));

  it.each([
    ['with one key exchange', []],
    ['with many', ['RekeyLimit 1M']],
  ])('keeps 16 at once intact, 2 MB each way, %s', async (_, lines) => {
    await sshd.restart([...OPEN, ...lines]);
    await using opened = await open();
    const port = opened.route.portFor(target.port);
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    const bodies = Array.from({ length: 16 }, () => randomBytes(2_000_000));
    const answers = await Promise.all(bodies.map((body) => exchange(sshd.address, port, body, 60_000)));
    expect(answers.map(digest)).toEqual(bodies.map(digest));
    await expect.poll(() => target.sockets.size).toBe(0);
  });

  it('answers a client that has ended its half before the answer is made', async () => {
    await using late = await listenHere((socket) => {
      let text = '';
      socket.on('data', (chunk) => (text += chunk)).once('end', () => socket.end(`after the end: ${text}`));
    });
    await using opened = await openRoute(sshd, [late.port]);
    expect(await ask(opened.route.portFor(late.port))).toBe('after the end: hello');
  });

  it('lets a client speak on after the server has ended its half', async () => {
    let heard = '';
    await using early = await listenHere((socket) => {
      socket.end('first');
      socket.on('data', (chunk) => (heard += chunk));
    });
    await using opened = await openRoute(sshd, [early.port]);
    const client = connect({
      host: sshd.address,
      port: opened.route.portFor(early.port),
      allowHalfOpen: true,
    });
    client.resume();
    await once(client, 'end');
    client.end('still here');
    await expect.poll(() => heard).toBe('still here');
  });

  it('ends the local side when the client resets', async () => {
    await using opened = await open();
    const client = connect({ host: sshd.address, port: opened.route.portFor(target.port) });
    client.write('x');
    await once(client, 'data');
    expect(target.sockets.size).toBe(1);
    client.resetAndDestroy();
    await expect.poll(() => target.sockets.size).toBe(0);
  });

  it('ends a local side that speaks on to a client that is gone', async () => {
    await using talker = await listenHere((socket) => {
      const timer = setInterval(() => socket.write('more'), 20);
      socket.once('close', () => clearInterval(timer));
    });
    await using opened = await openRoute(sshd, [talker.port]);
    const client = connect({ host: sshd.address, port: opened.route.portFor(talker.port) });
    await once(client, 'data');
    client.resetAndDestroy();
    await expect.poll(() => talker.sockets.size, { timeout: 5_000 }).toBe(0);
  });

  it('ends the client when the local side resets, or when nothing listens here', async () => {
    await using broken = await listenHere(
      (socket) => void socket.once('data', () => socket.resetAndDestroy()),
    );
    const { port: nobody } = await listenHere(echo).then(async (one) => {
      await one[Symbol.asyncDispose]();
      return one;
    });
    await using opened = await openRoute(sshd, [broken.port, nobody]);
    for (const port of [broken.port, nobody]) {
      const answer = await exchange(sshd.address, opened.route.portFor(port), 'x').catch(
        (error: Error) => error.message,
      );
      expect(String(answer)).toMatch(/^$|ECONNRESET|EPIPE/);
    }
  });

  it('resets what is in flight when the connection drops', async () => {
    await using silent = await listenHere(() => undefined);
    await using opened = await openRoute(sshd, [silent.port]);
    const client = connect({ host: sshd.address, port: opened.route.portFor(silent.port) });
    client.on('error', () => undefined).resume();
    await expect.poll(() => silent.sockets.size).toBe(1);
    const errors = [...silent.sockets].map((socket) => once(socket, 'error').then(([error]) => error.code));
    const closed = once(client, 'close');
    await sshd.killSessions();
    expect(await Promise.all(errors)).toEqual(['ECONNRESET']);
    await closed;
  });
});

describe('after a drop', () => {
  beforeEach(() => sshd.restart(OPEN));

  it('comes back at another port when the session is killed, and says so', async () => {
    await using opened = await open();
    const before = opened.route.portFor(target.port);
    let moves = 0;
    opened.route.onReconnected(() => moves++);
    await sshd.killSessions();
    const mended = await opened.next('route.reconnected');
    expect(mended).toMatchObject({ route: 'ssh', via: `root@${sshd.address}` });
    expect(opened.events.map(({ type }) => type)).toEqual(['route.lost', 'route.reconnected']);
    expect(moves).toBe(1);
    const after = opened.route.portFor(target.port);
    expect(after).not.toBe(before);
    expect(await ask(after)).toBe('hello');
  });

  it('comes back when sshd is restarted', async () => {
    await using opened = await open();
    await sshd.stop();
    await expect
      .poll(() => opened.events.filter(({ type }) => type === 'route.lost').length, { timeout: 10_000 })
      .toBeGreaterThan(1);
    await sshd.restart();
    await opened.next('route.reconnected');
    expect(await ask(opened.route.portFor(target.port))).toBe('hello');
  });

  it('comes back while the session that opened it is ending', async () => {
    const ending = new AbortController();
    await using opened = await open({ signal: ending.signal });
    ending.abort();
    await sshd.killSessions();
    await opened.next('route.reconnected');
    expect(await ask(opened.route.portFor(target.port))).toBe('hello');
  });

  it('says that it waits for a fixed port that is taken, and takes it when it is free', async () => {
    await using opened = await open({ port: 7443 });
    await sshd.stop();
    const [program, ...enter] = sshd.network.enter;
    const script = 'require("node:net").createServer().listen(7443, () => console.log("listening"))';
    const holder = spawn(program!, [...enter, process.execPath, '-e', script]);
    await once(holder.stdout, 'data');
    await sshd.restart();
    await expect
      .poll(() => JSON.stringify(opened.events.slice(1)), { timeout: 20_000 })
      .toContain('port 7443');
    holder.kill('SIGKILL');
    await opened.next('route.reconnected');
    expect(await ask(7443)).toBe('hello');
  });

  it('says clearly when the host has another key after the drop', async () => {
    await using opened = await open();
    await rm(join(sshd.dir, 'host_ed25519'));
    await makeKey(join(sshd.dir, 'host_ed25519'));
    await sshd.restart();
    await expect.poll(() => JSON.stringify(opened.events)).toContain('known_hosts');
    await learnHostKey(sshd);
  });

  it('ends at once while it is trying to come back', async () => {
    const opened = await open();
    await sshd.stop();
    await opened.next('route.lost');
    const started = performance.now();
    await opened[Symbol.asyncDispose]();
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(opened.events.map(({ type }) => type)).not.toContain('route.reconnected');
  });
});

describe('the end', () => {
  beforeEach(() => sshd.restart(OPEN));

  it('leaves nothing behind that keeps the process alive', async () => {
    const script = join(import.meta.dirname, '../fixtures/route/opens-and-closes-ssh.mjs');
    const child = spawn(process.execPath, [script, sshd.to], { env: sshd.env, timeout: 10_000 });
    const [code, signal] = await once(child, 'exit');
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    await expect.poll(() => sshd.log()).toContain('Received disconnect');
  });

  it.each(['cut', 'stop'])('comes at once when it is asked for while the route opens: %s', async (how) => {
    const abort = new AbortController();
    await (how === 'cut' ? sshd.network.cut() : sshd.stop());
    const opening = refusal({ signal: abort.signal, to: `root@${sshd.address}:22` });
    if (how === 'cut') setTimeout(() => abort.abort(new Error('enough')), 300);
    else abort.abort(new Error('enough'));
    const started = performance.now();
    expect((await opening).message).toBe('enough');
    expect(performance.now() - started).toBeLessThan(5_000);
    if (how === 'cut') await sshd.network.mend();
  });
});

describe('the key of the host', () => {
  beforeEach(() => sshd.restart(OPEN));

  it('is refused when it has changed, with the line that holds the other', async () => {
    await using home = await homeOf(sshd);
    const other = join(home.dir, 'other');
    await makeKey(other);
    const [type, key] = (await readFile(`${other}.pub`, 'utf8')).split(' ');
    await writeFile(home.knownHosts, `# mine\n${sshd.address} ${type} ${key}\n`);
    const error = await refusal({ env: home.env });
    expect(error.code).toBe('ssh.host-key');
    expect(error.message).toContain(`${home.knownHosts}:2`);
    expect(error.hint).toContain(`ssh-keygen -f ${home.knownHosts} -R ${sshd.address}`);
  });

  it('is refused when it is unknown and there is nobody to ask', async () => {
    await using home = await homeOf(sshd);
    await rm(home.knownHosts);
    const error = await refusal({ env: home.env });
    expect(error.code).toBe('ssh.host-key');
    expect(error.message).toContain(
      (await run('ssh-keygen', ['-lf', join(sshd.dir, 'host_ed25519.pub')])).split(' ')[1],
    );
  });

  it('is asked for when it is unknown, and kept when it is accepted', async () => {
    await using home = await homeOf(sshd);
    await writeFile(home.knownHosts, 'no newline at the end');
    const questions: string[] = [];
    const answerWith = (answer: string) => async (question: string) => {
      questions.push(question);
      return answer;
    };
    expect(await refusal({ env: home.env, ask: answerWith('no') })).toMatchObject({ code: 'ssh.host-key' });
    await using first = await open({ env: home.env, ask: answerWith('yes') });
    await using second = await open({ env: home.env });
    expect(questions).toHaveLength(2);
    expect(questions[0]).toMatch(/SHA256:\S+\)/);
    expect([first, second].map(({ route }) => route.via)).toEqual([
      `root@${sshd.address}`,
      `root@${sshd.address}`,
    ]);
    // OpenSSH itself reads what devloop has written.
    await run('ssh-keygen', ['-F', sshd.address, '-f', home.knownHosts]);
  });
});

describe('our keys', () => {
  beforeEach(() => sshd.restart(OPEN));

  it('names the keys that were tried and what the host takes', async () => {
    await using home = await homeOf(sshd);
    await newKey(home);
    const error = await refusal({ env: home.env });
    expect(error.code).toBe('ssh.auth');
    expect(error.message).toContain(`${home.dir}/.ssh/id_ed25519 (SHA256:`);
    expect(error.message).toContain('publickey');
  });

  it('says so when there is no key at all', async () => {
    await using home = await homeOf(sshd);
    await rm(home.key);
    await rm(`${home.key}.pub`);
    const error = await refusal({ env: home.env });
    expect(error.code).toBe('ssh.auth');
    expect(error.message).not.toContain('SHA256:');
    expect(error.hint).toContain('ssh-keygen');
  });

  it.each([
    ['ed25519', []],
    ['rsa', ['-b', '2048']],
    ['rsa', ['-b', '2048', '-m', 'PEM']],
    ['ecdsa', ['-b', '256']],
    ['ecdsa', ['-b', '521', '-m', 'PEM']],
  ])('signs in with a key of type %s %j', async (type, options) => {
    await using home = await homeOf(sshd);
    await newKey(home, ['-t', type, ...options, '-N', '']);
    if (options.includes('PEM')) await rm(`${home.key}.pub`);
    await authorize(sshd, home);
    await using opened = await open({ env: home.env });
    expect(opened.route.name).toBe('ssh');
  });

  it('asks for the passphrase of a key, three times at most, and not again after a drop', async () => {
    await using home = await homeOf(sshd);
    await newKey(home, ['-t', 'ed25519', '-N', 'right']);
    await authorize(sshd, home);
    const asked: { question: string; hidden: boolean }[] = [];
    const answers = ['wrong', 'right'];
    const answer = async (question: string, { hidden }: { hidden: boolean }) => {
      asked.push({ question, hidden });
      return answers.shift() ?? 'wrong';
    };
    await using opened = await open({ env: home.env, ask: answer });
    expect(asked).toEqual(Array(2).fill({ question: `Passphrase of ${home.key}: `, hidden: true }));
    await sshd.killSessions();
    await opened.next('route.reconnected');
    expect(asked).toHaveLength(2);
    const error = await refusal({ env: home.env, ask: answer });
    expect(asked).toHaveLength(5);
    expect(error).toMatchObject({ code: 'ssh.auth' });
    expect(error.message).toContain(home.key);
    expect(await refusal({ env: home.env })).toMatchObject({
      code: 'ssh.auth',
      message: expect.stringContaining('passphrase'),
    });
  });

  it('signs in with a key that only the agent has', async () => {
    await using home = await homeOf(sshd);
    await newKey(home);
    await authorize(sshd, home);
    await using agent = await startAgent(home.dir);
    await agent.add(home.key);
    await rm(home.key);
    await rm(`${home.key}.pub`);
    await using opened = await open({ env: { ...home.env, SSH_AUTH_SOCK: agent.socket } });
    expect(await ask(opened.route.portFor(target.port))).toBe('hello');
    const gone = { ...home.env, SSH_AUTH_SOCK: `${agent.socket}-not` };
    expect((await refusal({ env: gone })).message).toContain(`${agent.socket}-not`);
  });

  it.each(['ed25519', 'rsa', 'ecdsa'])(
    'signs in with a certificate, from files and from the agent: %s',
    async (type) => {
      await using home = await homeOf(sshd);
      const authority = join(home.dir, 'authority');
      await makeKey(authority);
      await newKey(home, ['-t', type, '-N', '']);
      await run('ssh-keygen', ['-q', '-s', authority, '-I', 'test', '-n', 'root', `${home.key}.pub`]);
      await copyFile(`${authority}.pub`, join(sshd.dir, 'authority.pub'));
      await sshd.restart([...OPEN, `TrustedUserCAKeys ${sshd.dir}/authority.pub`]);
      {
        await using opened = await open({ env: home.env });
        expect(await ask(opened.route.portFor(target.port))).toBe('hello');
      }
      await using agent = await startAgent(home.dir);
      await agent.add(home.key);
      for (const suffix of ['', '.pub', '-cert.pub']) await rm(home.key + suffix);
      await using opened = await open({ env: { ...home.env, SSH_AUTH_SOCK: agent.socket } });
      expect(await ask(opened.route.portFor(target.port))).toBe('hello');
      expect(await sshd.log()).toMatch(/Accepted publickey for root .*-CERT/);
    },
  );
});

describe('the way to the host', () => {
  beforeEach(() => sshd.restart(OPEN));

  it('goes over a jump host, and comes back when either breaks', async () => {
    await using second = await startSshd(OPEN);
    await using home = await homeOf(sshd);
    await copyFile(home.key, join(home.dir, 'jump_key'));
    await copyFile(join(second.dir, 'home/.ssh/id_ed25519'), home.key);
    const known = await readFile(join(second.dir, 'home/.ssh/known_hosts'), 'utf8');
    await writeFile(home.knownHosts, (await readFile(home.knownHosts, 'utf8')) + known);
    await writeFile(
      join(home.dir, '.ssh/config'),
      `Host inner\n  HostName ${second.address}\n  ProxyJump outer\nHost outer\n  HostName ${sshd.address}\n  IdentityFile ~/jump_key\n`,
    );
    await using opened = await open({ to: 'root@inner', env: home.env });
    expect(opened.route.target).toEqual({ address: second.address });
    const hello = () => exchange(second.address, opened.route.portFor(target.port), 'hello').then(String);
    expect(await hello()).toBe('hello');
    expect(await second.log()).toContain(`from ${sshd.address}`);
    for (const broken of [sshd, second]) {
      const from = opened.events.length;
      await broken.killSessions();
      await opened.next('route.reconnected', from);
      // If a host closes the connection, devloop notices at once, and not only after silent intervals.
      expect(opened.events[from]).toMatchObject({ cause: expect.stringContaining('was closed') });
      expect(await hello()).toBe('hello');
    }
  });

  it('goes over a ProxyCommand', async () => {
    await using home = await homeOf(sshd);
    await writeFile(
      join(home.dir, '.ssh/config'),
      `Host *\n  ProxyCommand ssh -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i ${home.key} -W %h:%p root@${sshd.address}\n`,
    );
    await using opened = await open({ env: home.env });
    expect(await ask(opened.route.portFor(target.port))).toBe('hello');
    const from = opened.events.length;
    await sshd.killSessions();
    await opened.next('route.reconnected', from);
  });

  it.each([
    ['no-such-host.invalid', 'ssh.unreachable'],
    ['-oProxyCommand=true', 'usage.invalid'],
  ])('refuses %s', async (to, code) => {
    const error = await refusal({ to });
    expect(error).toMatchObject({ code, message: expect.stringContaining(to) });
  });

  it('says when nothing listens, and when something else does', async () => {
    expect((await refusal({ to: `${sshd.to}:2222` })).message).toContain('port 2222');
    await using garbage = await onHostIp((socket) =>
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'.repeat(500)),
    );
    expect((await refusal({ to: `${sshd.network.hostIp}:${garbage.port}` })).message).toContain('handshake');
    await using short = await onHostIp((socket) => socket.end('SSH-2.0-'));
    expect((await refusal({ to: `${sshd.network.hostIp}:${short.port}` })).code).toBe('ssh.unreachable');
  });

  it('refuses a host that is loopback for the cluster, before it connects', async () => {
    const error = await refusal({ to: '127.0.0.1' });
    expect(error).toMatchObject({ code: 'route.address' });
    expect(error.message).toContain('loopback');
  });
});

/** Each of these has an sshd of its own, and waits for a time limit. */
describe.concurrent('what takes long', () => {
  it('comes back after a black hole at a fixed port', async () => {
    await using sshd = await startSshd(OPEN);
    await using opened = await openRoute(sshd, [target.port], { port: 7443 });
    let mends = 0;
    opened.route.onReconnected(() => mends++);
    await sshd.network.cut();
    await opened.next('route.lost');
    await sshd.network.mend();
    await opened.next('route.reconnected');
    expect(String(await exchange(sshd.address, 7443, 'hello'))).toBe('hello');
    expect(mends).toBe(1);
    expect(opened.route.portFor(target.port)).toBe(7443);
  });

  it('comes back after a black hole with a fresh port, beside the old one', async () => {
    await using sshd = await startSshd(OPEN);
    await using opened = await openRoute(sshd, [target.port]);
    await sshd.network.cut();
    await opened.next('route.lost');
    await sshd.network.mend();
    await opened.next('route.reconnected');
    expect(String(await exchange(sshd.address, opened.route.portFor(target.port), 'hello'))).toBe('hello');
  });

  it('waits for a person who takes longer to agree to a signature than a host may take', async () => {
    await using sshd = await startSshd(OPEN);
    await using home = await homeOf(sshd);
    await newKey(home);
    await authorize(sshd, home);
    const askpass = join(home.dir, 'agrees');
    await writeFile(askpass, '#!/bin/sh\nsleep 13\n', { mode: 0o700 });
    await using agent = await startAgent(home.dir, askpass);
    await agent.add(home.key, '-c');
    await rm(home.key);
    const env = { ...home.env, SSH_AUTH_SOCK: agent.socket };
    await using opened = await openRoute(sshd, [target.port], { env });
    expect(String(await exchange(sshd.address, opened.route.portFor(target.port), 'hello'))).toBe('hello');
  });

  it('says when nothing answers', async () => {
    await using sshd = await startSshd(OPEN);
    await sshd.network.cut();
    await expect(openRoute(sshd, [target.port])).rejects.toMatchObject({
      code: 'ssh.unreachable',
      message: expect.stringContaining('10 s'),
    });
  });
});

interface Home extends AsyncDisposable {
  dir: string;
  key: string;
  knownHosts: string;
  env: Record<string, string>;
}

/** A copy of the home directory whose key sshd accepts, for one test to change. */
async function homeOf({ dir: of, env }: TestSshd): Promise<Home> {
  const dir = await mkdtemp(join(tmpdir(), 'devloop-home-'));
  await run('cp', ['-r', join(of, 'home/.ssh'), dir]);
  const [key, knownHosts] = [join(dir, '.ssh/id_ed25519'), join(dir, '.ssh/known_hosts')];
  return {
    dir,
    key,
    knownHosts,
    env: { ...env, HOME: dir },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

async function newKey({ key }: Home, options?: string[]): Promise<void> {
  await rm(key);
  await rm(`${key}.pub`);
  await makeKey(key, options);
}

async function authorize({ dir, env }: TestSshd, { key }: Home): Promise<void> {
  const own = await readFile(join(env.HOME!, '.ssh/id_ed25519.pub'), 'utf8');
  await writeFile(
    join(dir, 'authorized_keys'),
    own + (await run('ssh-keygen', ['-y', '-P', 'right', '-f', key])),
  );
}

async function learnHostKey({ dir, env, address }: TestSshd): Promise<void> {
  const [type, key] = (await readFile(join(dir, 'host_ed25519.pub'), 'utf8')).split(' ');
  await writeFile(join(env.HOME!, '.ssh/known_hosts'), `${address} ${type} ${key}\n`);
}

async function onHostIp(serve: (socket: import('node:net').Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  server.listen(0, sshd.network.hostIp);
  await once(server, 'listening');
  return {
    port: (server.address() as import('node:net').AddressInfo).port,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
