"""One create or update of a stage: run it if it has to run, and prove what it left."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from threading import Event
from typing import Any

from workloads.provider import artifacts, jobsets, outputs
from workloads.provider import digest as digests
from workloads.provider.admission import RefusedError, Wanted, admit, check_steps, proven_already
from workloads.provider.attempt import AttemptWatch, Ending
from workloads.provider.connection import ClusterError, CredentialError
from workloads.provider.diagnosis import diagnose
from workloads.provider.inputs import parse
from workloads.provider.jobsets import JobSets
from workloads.provider.lifecycle import Means, UnfinishedError, rfc3339
from workloads.provider.objects import ObjectStoreError, split_url
from workloads.provider.pods import facts, first_failed
from workloads.provider.progress import Progress, duration
from workloads.provider.proof import Proof
from workloads.provider.record import Attempt, Proven, Record, RecordError, RecordFile
from workloads.provider.removal import Removal
from workloads.provider.report import Failure, explain, write
from workloads.provider.watch import Inbox, Interrupted

# Beyond its own deadlines a JobSet may take this long to be torn down.
_MARGIN = timedelta(minutes=30)


class StageRun:
    """One create or update of a stage. `interrupt` may be called from another thread."""

    def __init__(
        self, means: Means, inputs: Mapping[str, Any], prior: Mapping[str, Any] | None = None
    ) -> None:
        """Prepare a run from the resource's inputs; `prior` are the outputs before an update."""
        self._means = means
        self._inputs = dict(inputs)
        self._prior = prior
        self._stage = parse(inputs)
        self._inbox = Inbox()
        self._interrupted = Event()
        self._record = Record(stage=self._stage.stage)
        self._committed_step: int | None = None
        bucket, prefix = split_url(self._stage.directory)
        say = means.narrator.info
        self._store = means.open_store(bucket, self._interrupted, say)
        self._file = RecordFile(self._store, prefix)
        self._wanted = Wanted(
            directory=self._stage.directory,
            document=self._stage.document,
            owner=means.owner,
            now=rfc3339(means.now()),
        )

    def interrupt(self) -> None:
        """End the run soon, leaving the JobSet alone."""
        self._interrupted.set()
        self._inbox.put(Interrupted())

    def interrupted_outputs(self) -> UnfinishedError:
        """Return what to keep when the run was interrupted."""
        text = (
            f"{self._stage.stage}: interrupted. JobSet {self._stage.namespace}/{self._stage.name} "
            "was left as it is: if it runs it goes on and bills, and the next `pulumi up` attaches "
            "to it. To stop it: "
            f"kubectl -n {self._stage.namespace} delete jobset {self._stage.name}"
        )
        return self._unfinished("interrupted", text)

    def run(self) -> dict[str, Any]:
        """Run the stage if it has to run; return the proven outputs.

        Raises RefusedError before anything is done, UnfinishedError once the stage has begun.
        """
        try:
            found = self._file.read()
            if proven_already(found, self._wanted) and found and found.proven:
                if drift := artifacts.drift(self._store, found.proven.objects):
                    self._means.narrator.warn(f"{self._stage.stage}: {drift}")
                return outputs.proven(self._inputs, found.proven)
            self._check_prior()
            admit(found, self._wanted)
            self._record = found or self._record
            return self._run_or_attach(first=found is None)
        except (ObjectStoreError, RecordError, CredentialError) as error:
            self._raise_if_interrupted()
            raise RefusedError(f"{self._stage.stage}: {error}") from error
        except ClusterError as error:
            self._raise_if_interrupted()
            failure = Failure(stage=self._stage.stage, summary=str(error))
            # Not the end of the attempt: a JobSet that cannot be seen may well be running.
            raise self._failed(failure, ended=False) from error

    def _check_prior(self) -> None:
        if self._prior is None or self._prior.get("directory") != self._stage.directory:
            return
        check_steps(self._stage.steps, self._prior.get("committed_step"), self._stage.directory)

    def _run_or_attach(self, *, first: bool) -> dict[str, Any]:
        sets = JobSets(self._means.connect(self._stage.kubeconfig), self._stage.namespace)
        running = sets.read(self._stage.name)
        if running is not None and jobsets.digest_of(running) is None:
            raise RefusedError(
                f"JobSet {self._stage.namespace}/{self._stage.name} exists and is not this "
                "program's. Remove it, or choose another `run.name`"
            )
        attached = running if running is not None and self._can_attach(sets, running) else None
        if attached is None and not first:
            proof = self._prove()
            if proof.complete:
                return self._prove_late(proof)
        if attached is None and first:
            self._refuse_unexplained_data()
        if running is not None and attached is None:
            self._clear(sets, running)
        self._raise_if_interrupted()
        if attached is None or self._record.attempt is None:
            self._note_start()
        if attached is None:
            return self._follow(sets, self._submit(sets), fresh=True)
        return self._follow(sets, attached, fresh=False)

    def _can_attach(self, sets: JobSets, running: Mapping[str, Any]) -> bool:
        if jobsets.digest_of(running) != self._wanted.digest or jobsets.terminating(running):
            return False
        condition = jobsets.terminal(running)
        attempt = self._record.attempt
        judged = attempt is not None and attempt.state == "failed"
        if condition is None:
            self._means.narrator.info(f"attached to JobSet {self._stage.name}, which is running")
            return True
        if judged and attempt is not None and attempt.jobset_uid == jobsets.uid(running):
            return False  # told before; now it is to run again
        if condition["type"] == "Failed":
            pod = first_failed(facts(item) for item in sets.pods(jobsets.uid(running)))
            found = diagnose(pod.exit_code, pod.reason, pod.last_lines) if pod else None
            if found is not None and found.retry_helps:
                self._means.narrator.warn(
                    f"JobSet {self._stage.name} failed while nobody watched: {found.sentence} "
                    "It runs again"
                )
                return False
        return True

    def _refuse_unexplained_data(self) -> None:
        names = artifacts.occupied(self._store, self._stage.artifacts)
        if names:
            raise RefusedError(
                f"{self._stage.directory} holds data that no record explains "
                f"({', '.join(names[:3])}): MaxText would take it for this run's. Choose a new "
                "`run.name` (for the base checkpoint a new `run.base`), or move it away"
            )

    def _clear(self, sets: JobSets, old: Mapping[str, Any]) -> None:
        name, old_digest = self._stage.name, jobsets.digest_of(old)
        if jobsets.terminating(old):
            self._means.narrator.info(f"waiting for the old JobSet {name} to be gone")
        elif jobsets.terminal(old) is None and old_digest != self._wanted.digest:
            proof = self._prove()
            kept = "none yet" if proof.committed_step is None else f"step {proof.committed_step}"
            self._means.narrator.warn(
                f"stopping JobSet {name}: it runs with other settings; last committed checkpoint, "
                f"which is kept: {kept}"
            )
        limit_seconds = self._stage.start_timeout_minutes * 60
        removal = Removal(sets, self._stage.name, jobsets.uid(old), self._inbox)
        if not removal.run(limit_seconds, delete=not jobsets.terminating(old)):
            self._raise_if_interrupted()
            raise RefusedError(
                f"the old JobSet {name} is not gone after {duration(limit_seconds)}; "
                f"something holds it: kubectl -n {self._stage.namespace} get jobset {name} -o yaml "
                "(finalizers)"
            )

    def _note_start(self) -> None:
        now = self._means.now()
        minutes = self._stage.start_timeout_minutes + self._stage.timeout_minutes
        earlier = self._record.attempt
        same = earlier is not None and digests.digest(earlier.document) == self._wanted.digest
        self._record = self._record.with_attempt(
            Attempt(
                state="started",
                document=self._stage.document,
                owner=self._means.owner,
                number=earlier.number + 1 if earlier is not None and same else 1,
                started=rfc3339(now),
                ends_by=rfc3339(now + timedelta(minutes=minutes) + _MARGIN),
                jobset=f"{self._stage.namespace}/{self._stage.name}",
                image=self._stage.image,
                operational=self._stage.operational,
            )
        )
        self._file.write(self._record)

    def _submit(self, sets: JobSets) -> dict[str, Any]:
        try:
            return sets.create(self._stage.manifest, self._wanted.digest, self._file.url)
        except ClusterError as error:
            summary = f"the API server refused JobSet {self._stage.name}: {error}"
            raise self._failed(Failure(stage=self._stage.stage, summary=summary)) from error

    def _follow(self, sets: JobSets, jobset: Mapping[str, Any], *, fresh: bool) -> dict[str, Any]:
        narrator, now = self._means.narrator, self._means.now
        watch = AttemptWatch(self._stage, sets, jobset, self._inbox, narrator, now, fresh)
        ending = watch.run()
        if ending.kind == "interrupted":
            raise self.interrupted_outputs()
        if ending.kind in ("timeout", "start-timeout"):
            sets.delete(self._stage.name, jobsets.uid(jobset))  # chips are held only while training
        if ending.kind == "lost":
            raise self._failed(
                explain(self._stage, ending, watch.progress.line(), None), ended=False
            )
        self._means.narrator.live("proving the result")
        proof = self._prove()
        if proof.complete:
            if ending.kind != "completed":
                self._means.narrator.warn(
                    f"JobSet {self._stage.name} {ending.kind} ({ending.text}), but its result is "
                    "complete in the bucket: taken as a success"
                )
            return self._keep(proof, ending, watch, jobsets.uid(jobset))
        raise self._failed(
            explain(self._stage, ending, watch.progress.line(), proof), uid=jobsets.uid(jobset)
        )

    def _prove(self) -> Proof:
        proof = artifacts.prove(self._store, self._stage.artifacts)
        if proof.committed_step is not None:
            self._committed_step = proof.committed_step
        return proof

    def _prove_late(self, proof: Proof) -> dict[str, Any]:
        """Keep a result that was complete before anybody could record it."""
        attempt = self._record.attempt
        started = attempt.started if attempt else ""
        ending = Ending(kind="completed", started=started, ended=rfc3339(self._means.now()))
        watch = None
        self._means.narrator.info("the result of an earlier attempt is complete; nothing runs")
        return self._keep(proof, ending, watch, attempt.jobset_uid if attempt else "")

    def _keep(
        self, proof: Proof, ending: Ending, watch: AttemptWatch | None, uid: str
    ) -> dict[str, Any]:
        for warning in proof.warnings:
            self._means.narrator.warn(warning)
        attempt = self._record.attempt
        attempts = (attempt.number if attempt else 1) + ending.restarts
        progress = watch.progress if watch else Progress()
        kept = outputs.evidence(self._stage, proof, ending, progress, uid, attempts)
        proven = Proven(
            document=self._stage.document,
            outputs=kept,
            objects=tuple(
                {"name": info.name, "size": info.size, "generation": info.generation}
                for info in proof.decisive
            ),
            operational=self._stage.operational,
        )
        self._file.write(replace(self._record.ended("proven", uid), proven=proven))
        return outputs.proven(self._inputs, proven)

    def _failed(self, failure: Failure, *, uid: str = "", ended: bool = True) -> UnfinishedError:
        failure = replace(
            failure, finished=self._stage.finished, still_billing=self._stage.still_billing
        )
        if ended and self._record.attempt is not None:
            try:
                self._record = self._record.ended("failed", uid)
                self._file.write(self._record)
            except (ObjectStoreError, RecordError) as error:
                self._means.narrator.warn(f"the record could not be completed: {error}")
        return self._unfinished("failed", write(failure))

    def _unfinished(self, state: str, text: str) -> UnfinishedError:
        kept = outputs.unproven(self._inputs, self._prior, state, text, self._committed_step)
        return UnfinishedError(kept, text)

    def _raise_if_interrupted(self) -> None:
        if self._interrupted.is_set():
            raise self.interrupted_outputs()
