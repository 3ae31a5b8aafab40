import type { ErrorCode } from '../errors.ts';
import type { Discovered, Emit, Progress, Verdict } from '../report/events.ts';
import type { Checkout } from './files.ts';
import type { SourceFacts } from './source-facts.ts';

/** A programming language in which devloop finds, builds and runs an operator by itself: one row of src/languages.ts. */
export interface Language {
  /** As messages name it: 'Go'. */
  name: string;
  /** The files in the root of a checkout that are a sign of it, by name or as `*.py`. */
  signs: string[];
  /** Whether the program of a checkout with such a file is written in it; absent if it always is. */
  detect?(checkout: Checkout): boolean | Promise<boolean>;
  /** What shows that the packages below a directory are built together with it, except those with a lock file of their own. */
  workspace?: { signs: { file: string; says: RegExp }[]; locks: string[] };
  /** Whether its programs are also found where such a file is only below the root. */
  isBelowRoot?: true;
  /** Matches the names of its sources. */
  sources: RegExp;
  /** Matches the names of all files that `read` wants to see: the sources, and the files that name their modules. */
  files: RegExp;
  /** Whether `read` finds the texts in sources, so that they are not searched line by line. */
  findsTexts?: true;
  /** What these files of a checkout reveal, all those that `files` matches. */
  read(checkout: Checkout, paths: string[]): Promise<FoundFacts>;
  /** What takes long and needs no cluster, begun before the cluster is read. `kept`: the file of the last session's program. */
  prepare?(root: string, kept: string, io: ProgramIo): Promise<Prepared>;
  /**
   * The program that is the operator's manager. Throws 'controller.no-main' or 'target.not-found' if that is not certain, and
   * 'controller.no-toolchain' if its tools are missing.
   */
  program(checkout: Checkout, hints: ProgramHints): Promise<FoundProgram>;
  /** Whether this machine has the tools for the checkout; undefined if nothing says what it needs. */
  toolchain(checkout: Checkout, machine: ToolchainQuestion): Promise<ToolchainFinding | undefined>;
  /** Its build tool; absent if nothing is built. */
  tool?: BuildTool;
  /** Whether its programs read the files that KUBECONFIG lists as kubectl does. Those of other languages may read only one file. */
  readsKubeconfigList?: true;
  /** Whether `up --debug` can debug its programs. */
  canDebug?: true;
  /** Which of these variables of the environment the packages in `directories` name. What was found is kept in `cacheFile`. */
  variables?(directories: string[], wanted: string[], cacheFile: string): Promise<Set<string>>;
  /** Writes recorded reviews as a test of the operator's own suite. Throws 'usage.invalid' if one test cannot contain them all. */
  exportTest?(checkout: Checkout, reviews: TestReview[]): Promise<ExportedTest>;
}

/** A recorded review, for a test. */
export interface TestReview {
  id: string;
  /** The id, and what the review is about. */
  name: string;
  path: string;
  /** The AdmissionReview that kube-apiserver sent. */
  request: unknown;
  answer: {
    allowed: boolean;
    code: number;
    reason: string;
    message: string;
    warnings: string[] | null;
    patch: object[] | null;
  };
  /** Whether values in the request are replaced. */
  isRedacted: boolean;
}

export interface ExportedTest {
  text: string;
  /** Whether the user has to add how the webhooks are registered. */
  isIncomplete: boolean;
}

/** What the sources in one language reveal. */
export interface FoundFacts extends Partial<SourceFacts> {
  groups?: Set<string>;
  /** The names that its modules give to the operator. */
  names?: string[];
  /** The paths of sources outside the checkout that its program is built from. */
  outside?: string[];
}

export interface ProgramIo {
  emit?: Emit | undefined;
  signal?: AbortSignal | undefined;
}

/** See `Language.prepare`. */
export interface Prepared {
  /** The user's own flags for the build tool: GOFLAGS. */
  userFlags?: Promise<string> | undefined;
  /** The program of the last session, if nothing in the checkout has changed since. */
  upToDate?: UpToDate | undefined;
}

/** What is known from the user and the cluster about the manager's program. */
export interface ProgramHints extends ProgramIo {
  /** The program that the user named, and where: `--package`. */
  named?: { package: string; source: string } | undefined;
  /** The command and the arguments of the container. */
  command?: string[];
  args?: string[];
  /** The image of the container. */
  image?: string | undefined;
  /** The name of the container. */
  container?: string | undefined;
  /** The name of the Deployment, StatefulSet or DaemonSet. */
  workload?: string | undefined;
  /** The HTTP paths of the manager's webhooks. */
  paths?: string[];
  prepared?: Prepared | undefined;
  /** Present if the program is built to be debugged. */
  forDebugger?: DebugBuild | undefined;
  /** Whether the program is built and run next, so that commands of the checkout can run to find out how it is built. */
  isBuilt?: boolean | undefined;
  /**
   * Present if the program is to tell devloop which reconcile makes each of its API calls: the file of the kept program, beside which is
   * written what the build needs for that.
   */
  callTags?: string | undefined;
  /** The directory for the built program. */
  directory: string;
}

/** What a debugger can stop at and show in full: the code of the developer's own modules, or that of all packages. */
export type DebugBuild = 'own modules' | 'all';

/** A program of the checkout, how it is built and started, and how devloop found it. */
export interface FoundProgram {
  /** The name for `--package`: relative to the root of the checkout. */
  name: string;
  /** What the language calls it. */
  what: Extract<Discovered, 'main package' | 'program'>;
  /** Why it is this one. */
  source: string;
  /** What else devloop chose for the build, and why. */
  chosen: { what: Discovered; value: string; source: string }[];
  /** The directory in which it is built and run. */
  cwd: string;
  /** The build command; absent if nothing is built. */
  build?: string[] | undefined;
  output?: BuildOutput;
  /** The word `{args}` stands for the manager's arguments. */
  run: string[];
  /** The program's arguments, given the container's words after its program; absent if they are the same. */
  argumentsIn?(words: string[]): string[];
  /** How to build without the flags that devloop took from a recipe; absent if there are none. */
  withoutChosen?: string | undefined;
  /** The name under which the image starts the program, if the program's behaviour can depend on that name. */
  runAs?: string | undefined;
  /** Whether it can be built and started, without writing anything. */
  preflight(signal: AbortSignal): Promise<Preflight>;
  /** Variables that the program needs here, such as a PATH with the checkout's own tools. */
  ownVariables?: Record<string, string>;
  /** What the program is built from; absent if every file that git does not ignore counts. */
  watch?: ((signal: AbortSignal) => Promise<Sources>) | undefined;
  /** Its packages; absent if the language does not tell. */
  linked?: LinkedPackages | undefined;
  /** Whether it elects a Pod as its leader (leader for life), rather than the holder of a Lease. */
  electsPod?(): Promise<boolean>;
  /** Whether it finds its kubeconfig in the variable KUBECONFIG even if its sources only define a flag for it. */
  readsKubeconfig?(): Promise<boolean>;
  /** Whether its sources contain the paths of the webhooks that the cluster calls; always true if the user named it. */
  hasWebhooks: boolean;
  /** Other programs that could be the manager, as `--package` names them. */
  rivals: string[];
  /** How the image starts it, if a Dockerfile shows that. */
  image?: FoundCommand | undefined;
  /** The files of the checkout in its image. */
  imageFiles: ImageFile[];
  /** The variables that its image sets with ENV. */
  imageVariables: Record<string, string>;
}

/**
 * Where a build command writes the program, which is the first word of `run`: to the file that the word at this index names, so that each
 * build can write a new one, or always to the same file. Absent if that is not known.
 */
export type BuildOutput = number | 'same file' | undefined;

/** A file or directory of the checkout that an image contains, too. */
export interface ImageFile {
  /** The absolute path on this machine. */
  from: string;
  /** The absolute path in the image. */
  to: string;
}

/** How the manager's image starts the program, in the words of its ENTRYPOINT and CMD, and where that is written. */
export interface FoundCommand {
  entrypoint: string[];
  cmd: string[];
  source: string;
}

/** All packages of a program, including its dependencies: name -> directory. Asks the build tool when it is called for the first time. */
export type LinkedPackages = () => Promise<ReadonlyMap<string, string>>;

/** What the build tool reports before it compiles anything. */
export type Preflight =
  | { is: 'ready' }
  /** The first build downloads libraries. */
  | { is: 'downloads' }
  /** The build cannot start; `problem` is the reason in the words of the tool. */
  | { is: 'broken'; problem: string; hint: string | undefined };

export interface ToolchainQuestion {
  env: Record<string, string | undefined>;
  signal: AbortSignal;
}

export interface ToolchainFinding {
  verdict: Verdict;
  answer: string;
  /** The facts behind the answer, one per entry. */
  proof: string[];
  hint?: string;
  /** The error with which a build would fail; set when the verdict is `fail`. */
  code?: ErrorCode;
}

/** The files that a program is built from. */
export interface Sources {
  /** Directories to watch, without their subdirectories. */
  directories: string[];
  /** Whether the build tool could not tell, so that they are a guess. */
  isGuess: boolean;
  /** Whether the program is built from this file of one of the directories. */
  counts(path: string): boolean;
  /** The part of a file that decides which other files belong to the program: when it changes, they are listed again. */
  structureOf(path: string, content: string): string;
  /** Takes in a new directory, and those below it, if files there count. Returns those that are now also watched. */
  takeIn(directory: string): Promise<string[]>;
  /** Notes that the kept program was built from these files, if it is the program in `file`. `fromMs`: see BuildOutcome. */
  note(kept: string, program: { file: string; fromMs: number }): Promise<void>;
}

/** A command of a build tool that builds a program; the word at `output` is the program's file. */
export interface KnownBuild {
  cwd: string;
  command: string[];
  output: number;
}

/** The kept program of a checkout in which nothing has changed since it was built, so that no build tool has to run. */
export interface UpToDate {
  /** Whether it is the program that this build makes. */
  isMadeBy(build: KnownBuild): boolean;
  /** The program's file, as `stampOf` returns it. */
  program: string;
  sources: Sources;
  packages: ReadonlyMap<string, string>;
  /** When this was found, in ms since 1970: what was saved later is not in the program. */
  fromMs: number;
}

/** What devloop knows about a build tool. Commands that are not its builds, such as `make`, may run it. */
export interface BuildTool {
  /** Whether this command is one of its builds. */
  builds(command: string[]): boolean;
  /** The environment for its builds. `temporary`: a directory for what a build that is aborted leaves behind. */
  environment(temporary: string): NodeJS.ProcessEnv;
  /** The command with what makes it print its progress, if it is one of its builds. */
  verbose(command: string[]): string[];
  progress(): BuildProgress;
  /** The compiler's messages, without what `verbose` adds. */
  withoutProgress(output: string): string;
  /** The packages that a build of the tool has to compile, each after all that it needs; undefined if that is not known. */
  packagesToCompile?(command: string[], cwd: string, signal: AbortSignal): Promise<string[] | undefined>;
  /** The command or advice that fixes what the tool complains about; undefined if none is known. */
  advice(output: string): string | undefined;
  /** What is equal for programs of the tool that differ only in what they were built from; undefined for any other file. */
  contentOf?(program: string): Promise<string | undefined>;
  /** Notes how the kept program is built. The note only saves time, so a failure to write it is ignored. */
  noteBuild?(kept: string, build: KnownBuild): Promise<void>;
  /**
   * Makes the build leave out what devloop adds to the program (see `callTags`), if this output of it shows that this does not compile. Returns
   * the compiler's complaint; undefined if the build has to be right as it is.
   */
  takeOut?(command: string[], output: string): Promise<string | undefined>;
}

/** How far a build has got, judging by its output. */
export interface BuildProgress {
  /** Reads output as it arrives. */
  read(text: string): void;
  /** Sets the packages that had not been compiled yet when devloop listed them during the build, in the order of `packagesToCompile`. */
  expect(packages: string[]): void;
  now(): Progress | undefined;
}
