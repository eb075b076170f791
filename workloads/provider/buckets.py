"""Whether the results bucket can be used the way the settings say, asked before anything bills.

What this program creates or takes back it also reads with the Google provider, which needs
`storage.buckets.get`; of somebody else's bucket only the objects are used and asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads.provider.objects import ObjectStoreError, caller, open_client

if TYPE_CHECKING:
    from google.cloud.storage import Client

_REQUEST_TIMEOUT_SECONDS = 20
_RETRY_SECONDS = 30.0


@dataclass(frozen=True)
class _Answer:
    """What Cloud Storage says of a bucket; `denied` names who may not use it, if so."""

    exists: bool
    denied: str = ""


def new_bucket_problems(bucket: str) -> list[str]:
    """Return why a bucket of this name cannot be created, with the settings that help.

    Raises ObjectStoreError when Cloud Storage cannot be asked.
    """
    answer = _ask(bucket, lambda client: client.get_bucket(bucket, **_patience()))
    if not answer.exists:
        return []
    if answer.denied:
        return [
            f"the bucket name {bucket} belongs to someone else (it exists, and {answer.denied} is "
            "denied storage.buckets.get on it): choose another cluster.bucket"
        ]
    return [
        f"gs://{bucket} exists already. If an earlier `pulumi destroy` of this stack kept it, set "
        "cluster.adopt_bucket: true (`pulumi config set --path cluster.adopt_bucket true`) to take "
        "it back with its results; if it is somebody else's, set cluster.existing_bucket: true to "
        "use it as it is; or choose another cluster.bucket"
    ]


def adopted_bucket_problems(bucket: str) -> list[str]:
    """Return why a kept bucket cannot be taken back.

    Raises ObjectStoreError when Cloud Storage cannot be asked.
    """
    answer = _ask(bucket, lambda client: client.get_bucket(bucket, **_patience()))
    if not answer.exists:
        return [
            f"gs://{bucket} does not exist, so there is nothing for cluster.adopt_bucket to take "
            "back: set cluster.bucket to the kept bucket's name, or remove cluster.adopt_bucket to "
            "have a new one created"
        ]
    if answer.denied:
        return [
            f"gs://{bucket} cannot be taken back by cluster.adopt_bucket: {answer.denied} is "
            "denied storage.buckets.get on it; grant it roles/storage.admin on the bucket, or "
            "choose another cluster.bucket if the name is somebody else's"
        ]
    return []


def existing_bucket_problems(bucket: str) -> list[str]:
    """Return why somebody else's bucket cannot be used as it is.

    Raises ObjectStoreError when Cloud Storage cannot be asked.
    """
    answer = _ask(
        bucket, lambda client: list(client.list_blobs(bucket, max_results=1, **_patience()))
    )
    if not answer.exists:
        return [
            f"gs://{bucket} does not exist, and cluster.existing_bucket: true says that it does: "
            "set cluster.bucket to its name, or remove cluster.existing_bucket to have one created"
        ]
    if answer.denied:
        return [
            f"gs://{bucket} (cluster.existing_bucket) cannot be read: {answer.denied} is denied "
            "storage.objects.list on it; grant it roles/storage.objectUser on the bucket"
        ]
    return []


def _ask(bucket: str, call: "Callable[[Client], object]") -> _Answer:
    from google.api_core.exceptions import Forbidden, GoogleAPIError, NotFound
    from google.auth.exceptions import GoogleAuthError
    from requests import RequestException

    try:
        call(open_client(bucket))
    except NotFound:
        return _Answer(exists=False)
    except Forbidden as error:
        return _Answer(exists=True, denied=caller(str(error)))
    except (GoogleAPIError, GoogleAuthError, RequestException) as error:
        reason = str(error).splitlines()[0]
        raise ObjectStoreError(f"gs://{bucket} cannot be looked up: {reason}") from error
    return _Answer(exists=True)


def _patience() -> dict[str, object]:
    from google.cloud.storage.retry import DEFAULT_RETRY

    return {
        "timeout": _REQUEST_TIMEOUT_SECONDS,
        "retry": DEFAULT_RETRY.with_timeout(_RETRY_SECONDS),
    }
