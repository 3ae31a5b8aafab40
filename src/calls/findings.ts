import type { ApiCall } from '../api-proxy/api-call.ts';
import type { ServedCall } from '../api-proxy/observed.ts';
import type { ReconcileSummary } from '../report/call.ts';
import type { Told } from '../report/notices/catalogue.ts';
import type { RecordedCall } from './call-record.ts';
import { Finalizers } from './finalizers.ts';
import { Lists } from './lists.ts';
import type { Begun } from './reconciles.ts';
import { Throttled } from './throttled.ts';
import { objectIn } from './versions.ts';
import { Warnings } from './warnings.ts';
import type { PassedEvent } from './watched.ts';
import { Watches } from './watches.ts';

type Tell = (warning: Told<'warning'>) => unknown;

/** Shows all that the controller does to those who know what is wrong with it. */
export class Findings {
  #tell: Tell;
  #warnings = new Warnings();
  #throttled = new Throttled();
  #lists = new Lists();
  #watches = new Watches();
  #finalizers = new Finalizers();

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  /** A name by which managedFields know the controller. */
  writesAs(manager: string): void {
    this.#warnings.writesAs(manager);
  }

  /** Some of what the controller did was not recorded, and what it did before and after that shows nothing about it. */
  lost(): void {
    this.anew();
    this.#finalizers = new Finalizers();
  }

  /** What is done again and again is counted from now on. */
  anew(): void {
    this.#warnings = this.#warnings.anew();
  }

  /** Whether `look` can find something later. */
  get isWaiting(): boolean {
    return this.#finalizers.isWaiting;
  }

  /** The status with which the API server ended a watch. */
  watchError(call: ApiCall): object | undefined {
    return this.#watches.errorOf(call);
  }

  /** `by`: the reconcile that made the call, if that is known. */
  served(served: ServedCall, { record, answered, listed }: RecordedCall, by: Begun | undefined): void {
    this.#throttled.called(record);
    this.#say(this.#lists.called(served, record), this.#watches.called(served, record));
    this.#finalizers.called(served, record, by);
    const deletedFor = record.verb === 'delete' ? by : undefined;
    const at = served.at + served.ms;
    for (const object of answered ? [answered] : listed)
      this.#finalizers.passed(object, served.call, { at, deletedFor });
    this.#say(this.#warnings.called(record, by?.controller));
  }

  /** `at`: by the clock that the controller has, too. */
  watched(event: PassedEvent, call: ApiCall, at: number): void {
    this.#watches.watched(event, call);
    const object = objectIn(event.object);
    if (object && event.type === 'DELETED') this.#finalizers.gone(object, at);
    else if (object) this.#finalizers.passed(object, call, { at });
  }

  begun(begun: Begun): void {
    this.#finalizers.begun(begun);
  }

  reconciled(reconcile: ReconcileSummary): void {
    this.#finalizers.reconciled(reconcile);
    this.#say(this.#warnings.reconciled(reconcile));
  }

  logged(line: string, at: number): void {
    this.#say(this.#throttled.logged(line, at));
  }

  /** Something can be wrong because nothing has happened until now, in milliseconds since 1970. */
  look(now: number): void {
    this.#say(this.#finalizers.due(now));
  }

  #say(...all: Told<'warning'>[][]): void {
    for (const one of all.flat()) this.#tell(one);
  }
}
