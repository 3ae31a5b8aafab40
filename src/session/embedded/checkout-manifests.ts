import { rm } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { reportWhileWaiting } from '../../async.ts';
import { runGeneration } from '../../controller/generate.ts';
import { DevloopError } from '../../errors.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from '../context/options.ts';
import { type Generated, Generating } from '../generated/generate.ts';
import { type Rendered, renderCheckout } from './render.ts';
import { sourceOf } from './source.ts';

export interface Place {
  root: string;
  /** The directory of envtest's programs. */
  assets: string;
  /** A directory of the session. */
  scratch: string;
  /** The user's command that writes the manifests; it also runs before each build. */
  generate: string[] | undefined;
}

/** What the checkout would deploy. Where its manifests are missing or old, they are generated into the session's directory. */
export class CheckoutManifests {
  readonly #place: Place;
  readonly #io: Io;
  readonly #generating: Generating | undefined;
  #generated: Generated | undefined;
  readonly #said = new Map<string, unknown>();

  private constructor(place: Place, io: Io, generating: Generating | undefined) {
    this.#place = place;
    this.#io = io;
    this.#generating = generating;
  }

  static async of(place: Place, io: Io): Promise<CheckoutManifests> {
    const { is } = await sourceOf(place.root);
    const isGenerated = !place.generate && (is === 'overlay' || is === 'files');
    return new CheckoutManifests(place, io, isGenerated ? await Generating.of(place.root) : undefined);
  }

  /** Throws 'embedded.manifests' if they are missing, and cannot be generated. */
  async first(): Promise<Rendered> {
    const generating = this.#generating;
    const { generate, root } = this.#place;
    const running = generate && runGeneration({ command: generate, cwd: root }, this.#io.signal);
    const waiting = { for: `\`${generate?.join(' ')}\`` };
    const failed = running && (await reportWhileWaiting(running, waiting, this.#io.emit));
    if (failed) throw notGenerated(failed.output);
    const { isMissing, old } = (await generating?.age()) ?? { isMissing: false, old: [] };
    const isStale = isMissing || old.length > 0;
    const whyNot = generating && isStale ? await this.#generate(generating, isMissing, old) : undefined;
    return await this.render().catch((error: unknown) => {
      if (isMissing && whyNot !== undefined && error instanceof DevloopError)
        throw notThere(whyNot, generating!.adviceForAll(this.#io));
      throw error;
    });
  }

  async render(signal = this.#io.signal): Promise<Rendered> {
    if (this.#generating && this.#generated)
      this.#generated = await this.#generating.compared(this.#generated.directory);
    this.#say();
    const { root, assets, scratch } = this.#place;
    const from = { root, generated: this.#generated, assets, scratch };
    const rendered = await renderCheckout(from, { ...this.#io, signal });
    const { added } = rendered;
    if (this.#isNew('added', added) && added) this.#io.emit(noticeOf(added));
    return rendered;
  }

  /** Generates again if the code says something else to a generator. Returns whether it does. */
  async regenerate(signal: AbortSignal): Promise<boolean> {
    const generating = this.#generating;
    if (generating === undefined || !(await generating.sources.haveChanged())) return false;
    const found = await generating.program({ ...this.#io, signal });
    if ('why' in found) return false;
    await this.#run(generating, found.command, signal);
    return true;
  }

  /** Returns why the manifests cannot be generated, if so. */
  async #generate(
    generating: Generating,
    isMissing: boolean,
    old: { generator: string; directory: string }[],
  ): Promise<string | undefined> {
    const { emit } = this.#io;
    const command = generating.advice(this.#io);
    const found = await generating.program(this.#io);
    if ('why' in found) {
      // Other code with markers is edited all the time.
      const types = old.filter(({ generator }) => generator === 'crd');
      const directories = types.map(({ directory }) => directory);
      if (types.length > 0) emit(notice('manifests.maybe-old', { directories, why: found.why, command }));
      return found.why;
    }
    const running = this.#run(generating, found.command);
    await reportWhileWaiting(running, { for: 'controller-gen' }, emit).catch((error) => {
      if (isMissing || !(error instanceof DevloopError)) throw error;
      emit(notice('manifests.not-generated', { cause: error.message, command }));
    });
    return undefined;
  }

  async #run(generating: Generating, command: string[], signal = this.#io.signal): Promise<void> {
    const before = this.#generated?.directory;
    this.#generated = await generating.run(command, this.#place.scratch, { ...this.#io, signal });
    if (before) await rm(before, { recursive: true, force: true });
  }

  #say(): void {
    const { missing = [], old = [] } = this.#generated ?? {};
    if (!this.#isNew('generated', { missing, old })) return;
    const { command = '' } = this.#generating ?? {};
    if (missing.length + old.length > 0)
      this.#io.emit(notice('manifests.generated', { missing, old, command }));
  }

  /** Each save renders again, and most change nothing about this. */
  #isNew(what: string, now: unknown): boolean {
    const isNew = !isDeepStrictEqual(now, this.#said.get(what));
    this.#said.set(what, now);
    return isNew;
  }
}

function noticeOf({ whyNot, ...which }: NonNullable<Rendered['added']>): DevloopEvent {
  if (whyNot === undefined) return notice('manifests.webhooks-added', which);
  return notice('manifests.webhooks-not-added', { ...which, cause: whyNot });
}

function notGenerated(output: string): DevloopError {
  const hint = 'Fix the error, or `controller.generate` in devloop.yaml.';
  return new DevloopError('embedded.manifests', `The manifests cannot be generated: ${output}`, { hint });
}

function notThere(why: string, hint: string): DevloopError {
  return new DevloopError(
    'embedded.manifests',
    `The manifests of this checkout have not been generated, and ${why}.`,
    { hint },
  );
}
