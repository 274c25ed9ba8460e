"""Service class of each job: that of -sla, or one that attaches the job (GUA-01)."""

from __future__ import annotations

from .instance import Instance
from .job import Job
from .service_class import ALL, ServiceClass
from .shares import Groups


class ServiceClasses:
    """Look-up of the service class of a job."""

    def __init__(self, instance: Instance) -> None:
        self.by_name = {item.name: item for item in instance.service_classes}
        self._groups = Groups(instance.groups)
        self._known: dict[tuple[str, ...], str] = {}
        self._attaching = [item for item in instance.service_classes if item.auto_attach]

    def of(self, job: Job) -> str:
        """Return the class of a job: that of -sla, else one that attaches it, else ""."""
        if not self.by_name:
            return ""
        if job.service_class:
            return job.service_class if job.service_class in self.by_name else ""
        key = (job.queue, job.user, job.project, job.license_project, job.group, job.application)
        if key not in self._known:
            admitting = (item for item in self._attaching if self.admits(item, job))
            self._known[key] = next((item.name for item in admitting), "")
        return self._known[key]

    def admits(self, item: ServiceClass, job: Job) -> bool:
        """Return whether a job meets ACCESS_CONTROL."""
        return all(self._meets(part, names, job) for part, names in item.access.items())

    def may_admit(self, item: ServiceClass, job: Job) -> bool:
        """Return whether a job may meet ACCESS_CONTROL; one without -Lp may have a default."""
        return all(
            (part == "LIC_PROJECTS" and not job.license_project) or self._meets(part, names, job)
            for part, names in item.access.items()
        )

    def takes_user(self, item: ServiceClass, job: Job) -> bool:
        """Return whether a job meets the parts of ACCESS_CONTROL about its user."""
        parts = ((part, item.access.get(part)) for part in ("USERS", "FAIRSHARE_GROUPS"))
        return all(names is None or self._meets(part, names, job) for part, names in parts)

    def unsure(self, job: Job) -> bool:
        """Return whether the class of a job depends on its unknown licence project."""
        if job.service_class:
            return False
        for item in self._attaching:
            if self.admits(item, job):
                return False
            if self.may_admit(item, job):
                return True
        return False

    def _meets(self, part: str, names: tuple[str, ...], job: Job) -> bool:
        match part:
            case "QUEUES":
                return ALL in names or job.queue in names
            case "USERS":
                return self._groups.admits(names, job.user)
            case "FAIRSHARE_GROUPS":
                return job.group in names if job.group else self._groups.admits(names, job.user)
            case "APPS":
                return job.application in names
            case "PROJECTS":
                return job.project in names
            case "LIC_PROJECTS":
                return job.license_project in names
        return False
