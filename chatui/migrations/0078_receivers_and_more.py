from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatui', '0076_messages_format'),
    ]

    operations = [
        migrations.AddField(
            model_name='toolapproval',
            name='receiver',
            field=models.CharField(blank=True, db_default='', default='', max_length=300),
        ),
        migrations.AddField(
            model_name='storedtoolserver',
            name='more',
            field=models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict),
        ),
    ]
